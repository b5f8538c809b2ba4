"""The calls between the services of a workload."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class CallWeights:
    """The numbers of calls between services, both directions added up, as a sparse matrix (CSR).

    Parameters
    ----------
    kind : int64, shape (containers,)
        The service of each container, as a position in the rows of the matrix.
    offsets : int64, shape (services + 1,)
        The position in ``neighbours`` at which each service's neighbours begin.
    neighbours : int64, shape (entries,)
        For each service, the services that it calls or that call it.
    calls : float64, shape (entries,)
        Calls between a service and its neighbour; each pair is listed for both services.
    """

    kind: IntArray
    offsets: IntArray
    neighbours: IntArray
    calls: FloatArray

    @property
    def services(self) -> int:
        """Number of services."""
        return len(self.offsets) - 1

    def shares(self, kind: int) -> FloatArray:
        """Return each service's share in the calls of the service ``kind``, shape (services,).

        The shares sum to 1, or to 0 for a service without calls.
        """
        span = slice(self.offsets[kind], self.offsets[kind + 1])
        counts = np.zeros(self.services)
        counts[self.neighbours[span]] = self.calls[span]
        total = counts.sum()
        return counts / total if total > 0 else counts

    def stay_share(self, kind: int, kinds: IntArray, nodes: IntArray, size: int) -> FloatArray:
        """Return the share of a container's calls that would stay on each node, shape (nodes,).

        A call is assumed to reach each container of the called service with the same probability.

        Parameters
        ----------
        kind : int
            The container's service.
        kinds, nodes : int64, shape (placed,)
            Services and nodes of the containers that run.
        size : int
            Number of nodes.
        """
        running = np.bincount(kinds, minlength=self.services)
        each = self.shares(kind) / np.maximum(running, 1)
        return np.asarray(np.bincount(nodes, each[kinds], minlength=size), dtype=np.float64)

    def kept_share(self, node: IntArray) -> float | None:
        """Return the share of all calls whose two containers are on one node.

        Return None if there is no call between placed containers.

        Parameters
        ----------
        node : int64, shape (containers,)
            The node of each container; -1 if it was never placed.
        """
        placed = np.flatnonzero(node >= 0)
        running = np.bincount(self.kind[placed], minlength=self.services)
        owner = np.repeat(np.arange(self.services), np.diff(self.offsets))
        between_placed = (running[owner] > 0) & (running[self.neighbours] > 0)
        total = float(self.calls[between_placed].sum())
        if not total:
            return None
        counts = pl.DataFrame({"kind": self.kind[placed], "node": node[placed]})
        counts = counts.group_by("kind", "node").agg(pl.len().alias("containers"))
        edges = pl.DataFrame({"kind": owner, "other": self.neighbours, "calls": self.calls})
        both = edges.join(counts, on="kind").join(
            counts, left_on=["other", "node"], right_on=["kind", "node"], suffix="_other"
        )
        both = both.sort("kind", "other", "node")  # sums of floats hang on their order
        pairs = both["containers"].to_numpy() * both["containers_other"].to_numpy().astype(float)
        possible = running[both["kind"].to_numpy()] * running[both["other"].to_numpy()]
        return float((both["calls"].to_numpy() * pairs / possible).sum() / total)


def call_weights(services: tuple[str, ...], edges: pl.DataFrame) -> CallWeights:
    """Return the calls between a workload's services, from the edges of a call graph.

    Parameters
    ----------
    services : tuple of str, shape (containers,)
    edges : DataFrame
        ``upstream``, ``downstream``, ``calls``. Edges with a service that the workload lacks,
        and edges of a service to itself, are left out.
    """
    names, kind = np.unique(np.array(services, dtype=object), return_inverse=True)
    at = pl.DataFrame({"service": list(names), "at": np.arange(len(names), dtype=np.int64)})
    pairs = (
        edges.select("upstream", "downstream", pl.col("calls").cast(pl.Float64))
        .join(at.rename({"at": "one"}), left_on="upstream", right_on="service")
        .join(at.rename({"at": "other"}), left_on="downstream", right_on="service")
        .filter(pl.col("one") != pl.col("other"))
        .select("one", "other", "calls")
    )
    turned = pairs.select(
        pl.col("other").alias("one"), pl.col("one").alias("other"), pl.col("calls")
    )
    both = (pl.concat([pairs, turned]).group_by("one", "other").agg(pl.col("calls").sum())).sort(
        "one", "other"
    )
    ends = np.cumsum(np.bincount(both["one"].to_numpy(), minlength=len(names)))
    return CallWeights(
        kind=np.asarray(kind, dtype=np.int64),
        offsets=np.concatenate([[0], ends]).astype(np.int64),
        neighbours=both["other"].to_numpy().astype(np.int64),
        calls=both["calls"].to_numpy(),
    )
