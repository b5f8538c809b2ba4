"""Call chains: sets of edges that many traces share, and a choice of different chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tracekit.analysis.callgraph.ledger import Tally
from tracekit.base.arrays import IntArray
from tracekit.base.files.places import scan_parquet
from tracekit.base.units import MS_PER_MINUTE, MS_PER_S
from tracekit.store.folder import Store

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: The number of the most frequent chains among which the choice is made.
MOST_CANDIDATES = 20_000


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A set of edges (calls between two services) that the calls of one or more traces form.

    Parameters
    ----------
    edges : frozenset of (int, int)
        (upstream_key, downstream_key).
    traces : int
        The number of traces with exactly these edges.
    member : int
        The trace_key of an example. It is the smallest key among the traces whose numbers of calls
        on these edges are the most common ones.
    """

    edges: frozenset[tuple[int, int]]
    traces: int
    member: int

    @property
    def services(self) -> list[int]:
        """The keys of the services on the chain, sorted."""
        return sorted({service for edge in self.edges for service in edge})


class ChainCounter:
    """A counter of traces with the same edges (calls between two services), each set a ``Chain``.

    First ``add`` traces, then call ``chains``.
    """

    def __init__(self, services: pl.Series) -> None:
        self._services = services
        self._tally = Tally(["edges", "calls"], smallest=("member",))

    def add(self, calls: pl.DataFrame) -> None:
        """Add the calls of complete traces, a frame of ``run.calls_frame``."""
        counted = signatures(calls, self._services).group_by("edges", "calls")
        first = pl.col("trace_key").min().alias("member")
        self._tally.add(counted.agg(pl.len().cast(pl.Int64).alias("traces"), first))

    def chains(self) -> list[Chain]:
        """Return the ``MOST_CANDIDATES`` most frequent chains, the most frequent first."""
        common = self._tally.frame().sort(
            "edges", "traces", "calls", descending=[False, True, False]
        )
        grouped = common.group_by("edges", maintain_order=True).agg(
            pl.col("traces").sum(), pl.col("member").first()
        )
        ordered = grouped.sort("traces", "edges", descending=[True, False]).head(MOST_CANDIDATES)
        return [
            Chain(edges=_parsed(edges), traces=traces, member=member)
            for edges, traces, member in ordered.select("edges", "traces", "member").rows()
        ]


def signatures(calls: pl.DataFrame, services: pl.Series) -> pl.DataFrame:
    """Return trace_key, edges and calls for each trace with an edge between two of the services.

    The text ``edges`` is equal for traces with the same edges, and the text ``calls`` for traces
    with the same numbers of calls. A call of a service to itself is no edge.
    """
    ends = ("upstream_key", "downstream_key")
    inside = pl.all_horizontal(pl.col(end).is_in(services.implode()) for end in ends)
    edges = calls.filter(inside & (pl.col(ends[0]) != pl.col(ends[1])))
    counted = edges.group_by("trace_key", *ends).agg(pl.col("repeats").sum())
    ordered = counted.sort("trace_key", *ends)
    return ordered.group_by("trace_key", maintain_order=True).agg(
        pl.format("{}-{}", *ends).str.join(" ").alias("edges"),
        pl.col("repeats").cast(pl.String).str.join(" ").alias("calls"),
    )


def signature(chain: Chain) -> str:
    """Return the edges of a chain as a text, as in ``signatures``."""
    return " ".join(f"{up}-{down}" for up, down in sorted(chain.edges))


def _parsed(edges: str) -> frozenset[tuple[int, int]]:
    pairs = (edge.split("-") for edge in edges.split(" "))
    return frozenset((int(up), int(down)) for up, down in pairs)


def choose(chains: list[Chain], count: int, spare: dict[int, int]) -> list[Chain]:
    """Choose chains that differ most, greedily by the Jaccard distance of their edges.

    The first chain is the most frequent one. Each further chain has the largest distance to the
    nearest chosen chain; of equal distances the more frequent chain is chosen. A chain takes one
    container of each of its services. Chains with a service that has no container left are skipped.

    Parameters
    ----------
    spare : dict of int to int
        The number of containers of each service.
    """
    if not chains:
        return []
    matrix, sizes = _membership(chains)
    left = dict(spare)
    distance = np.ones(len(chains))
    chosen: list[Chain] = []
    while len(chosen) < count and (distance >= 0).any():
        at = int(np.argmax(distance))
        distance[at] = -1.0
        services = chains[at].services
        if any(left.get(service, 0) < 1 for service in services):
            continue
        for service in services:
            left[service] -= 1
        chosen.append(chains[at])
        shared = np.asarray((matrix @ matrix[[at]].T).todense()).reshape(-1)
        jaccard = 1 - shared / (sizes + sizes[at] - shared)
        distance = np.where(distance < 0, distance, np.minimum(distance, jaccard))
    return chosen


def _membership(chains: list[Chain]) -> tuple[csr_matrix, IntArray]:
    """A sparse matrix of chains and edges with 1 for each edge of a chain, and edges per chain."""
    numbers = {edge: at for at, edge in enumerate(sorted({e for c in chains for e in c.edges}))}
    sizes = np.array([len(chain.edges) for chain in chains], dtype=np.int64)
    columns = np.array([numbers[edge] for chain in chains for edge in sorted(chain.edges)])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    from scipy import sparse  # noqa: PLC0415 - slow to import

    matrix = sparse.csr_matrix(
        (np.ones(len(columns)), columns, starts), shape=(len(chains), len(numbers))
    )
    return matrix, sizes


# Call graphs are a sample of calls (0.5 % in CTM21), so most periods have no call along an edge.
# Rates of calls are complete (MSRTQps). So the calls of a container in a period are its reported
# rate, divided among its callers as in the sample (Yao et al., 1.1 (3): both tables).

#: Metrics of calls that a container answers; the first that it reports counts.
ANSWERED = ("providerRPC_MCR", "HTTP_MCR", "consumerMQ_MCR")


def rated_calls(store: Store, sampled: pl.DataFrame, period_ms: int) -> pl.DataFrame:
    """Estimate the calls of each period and edge from the rates that containers report.

    Traces are a sample, but rates are complete. The calls of a container are its reported rate
    times the period. They are divided among its callers in proportion to the sampled calls.

    Parameters
    ----------
    sampled : DataFrame
        timestamp (ms), um and dm (keys of the calling and the called container), calls: the calls
        of the sampled traces, for each period and edge.

    Returns
    -------
    DataFrame
        The same columns, sorted; ``calls`` is a float. Edges to containers without reported rates
        keep the calls of the sample.
    """
    edges = sampled.group_by("um", "dm").agg(pl.col("calls").sum().cast(pl.Float64).alias("seen"))
    shares = edges.with_columns(share=pl.col("seen") / pl.col("seen").sum().over("dm"))
    rates = _answered(store, edges["dm"].unique())
    parts = MS_PER_MINUTE // period_ms
    # the time of a rate is the end of its minute
    ends = pl.col("time_ms") + (MS_PER_MINUTE - pl.col("time_ms") % MS_PER_MINUTE) % MS_PER_MINUTE
    by_rate = (
        rates.join(shares, left_on="container_key", right_on="dm")
        .join(pl.DataFrame({"part": range(parts)}, schema={"part": pl.Int64}), how="cross")
        .select(
            (ends - pl.col("part") * period_ms).alias("timestamp"),
            "um",
            pl.col("container_key").alias("dm"),
            (pl.col("value") * pl.col("share") * (period_ms / MS_PER_S)).alias("calls"),
        )
        .filter(pl.col("calls") > 0)
        .group_by("timestamp", "um", "dm")
        .agg(pl.col("calls").mean())
    )
    unrated = sampled.join(rates.select("container_key").unique(), left_on="dm",
                        right_on="container_key", how="anti")  # fmt: skip
    columns = [pl.col("timestamp").cast(pl.Int64), "um", "dm", pl.col("calls").cast(pl.Float64)]
    table = pl.concat([by_rate.select(columns), unrated.select(columns)])
    return table.filter(pl.col("timestamp") >= 0).sort("timestamp", "um", "dm")


def _answered(store: Store, containers: pl.Series) -> pl.DataFrame:
    """container_key, time_ms, value: the calls per second that each container answers."""
    files = [scan_parquet(path) for path in store.table_files("service_rate")]
    if not files:
        return pl.DataFrame(
            schema={"container_key": pl.Int32, "time_ms": pl.Int64, "value": pl.Float64}
        )
    place = (
        pl.col("metric")
        .cast(pl.String)
        .replace_strict(
            {name: at for at, name in enumerate(ANSWERED)}, default=None, return_dtype=pl.Int64
        )
    )
    rates = (
        pl.concat(files)
        .filter(pl.col("container_key").is_in(containers.implode()))
        .select("container_key", "time_ms", "value", place=place)
        .filter(pl.col("place").is_not_null() & pl.col("value").is_finite())
        .filter(pl.col("place") == pl.col("place").min().over("container_key"))
        .collect()
    )
    return rates.select("container_key", "time_ms", "value")
