"""Frames of a placement study: by set, by number of containers, by resource."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.replay.chance.student import means

#: The study notes the imbalance after each further 100 arrivals.
EVERY = 100


@dataclass(frozen=True, kw_only=True)
class Placed:
    """One policy's placement of one set.

    Parameters
    ----------
    imbalance : float64, shape (checkpoints,)
    use : float64, shape (nodes, resources)
        Requests over capacity after the last arrival.
    """

    imbalance: FloatArray
    use: FloatArray
    resources: tuple[str, ...]
    pending: int
    spent_s: float


def counts(containers: int) -> list[int]:
    """The numbers of arrived containers at which the study notes the imbalance, in order."""
    return [*range(EVERY, containers, EVERY), containers]


Results = dict[str, list[Placed]]


def imbalance_frame(results: Results, containers: int) -> pl.DataFrame:
    """Imbalance by policy and number of containers, with 95 % intervals over sets."""
    found = means(np.concatenate([_imbalance(placed) for placed in results.values()], axis=1))
    at = counts(containers)
    return pl.DataFrame(
        {
            "policy": np.repeat(list(results), len(at)).tolist(),
            "containers": at * len(results),
            "imbalance": found.mean,
            "imbalance_low": pl.Series(found.low).fill_nan(None),
            "imbalance_high": pl.Series(found.high).fill_nan(None),
        }
    )


def _imbalance(placed: list[Placed]) -> FloatArray:
    """Shape (sets, checkpoints)."""
    return np.stack([one.imbalance for one in placed])


def use_by_count(load: Workload, node: IntArray, first: int) -> FloatArray:
    """Requests of the first containers over capacity, shape (nodes, resources)."""
    placed = np.flatnonzero(node[:first] >= 0)
    taken = np.zeros(load.nodes.capacity.shape)
    np.add.at(taken, node[placed], load.containers.request[placed])
    return np.asarray(taken / load.nodes.capacity)


def sets_frame(results: Results, containers: int) -> pl.DataFrame:
    """Imbalance by policy, set and number of containers: one row for each measurement."""
    at = counts(containers)
    sets = len(next(iter(results.values())))
    return pl.DataFrame(
        {
            "policy": np.repeat(list(results), sets * len(at)).tolist(),
            "set": np.repeat(range(sets), len(at)).tolist() * len(results),
            "containers": at * sets * len(results),
            "imbalance": np.concatenate([_imbalance(one).ravel() for one in results.values()]),
        }
    )


def ends_frame(results: Results) -> pl.DataFrame:
    """Least, mean and most used node by policy, set and resource, with all containers placed."""
    return pl.DataFrame(
        [
            {
                "policy": name,
                "set": number,
                "resource": resource,
                "low_fraction": float(one.use[:, at].min()),
                "mean_fraction": float(one.use[:, at].mean()),
                "high_fraction": float(one.use[:, at].max()),
                "overfull_nodes": int((one.use[:, at] > 1).sum()),
            }
            for name, placed in results.items()
            for number, one in enumerate(placed)
            for at, resource in enumerate(one.resources)
        ]
    )


def use_frame(ends: pl.DataFrame) -> pl.DataFrame:
    """The frame of ``ends_frame`` as means over sets."""
    return ends.group_by("policy", "resource", maintain_order=True).agg(
        pl.exclude("set").cast(pl.Float64).mean()
    )


def nodes_frame(results: Results) -> pl.DataFrame:
    """Use of every node by policy and resource, as means over sets; place 1 is the least used."""
    frames = []
    for name, placed in results.items():
        ordered = np.mean([np.sort(one.use, axis=0) for one in placed], axis=0)
        nodes, resources = ordered.shape
        frames.append(
            pl.DataFrame(
                {
                    "policy": [name] * ordered.size,
                    "resource": np.repeat(placed[0].resources, nodes).tolist(),
                    "place": [*range(1, nodes + 1)] * resources,
                    "use_fraction": ordered.T.ravel(),
                }
            )
        )
    return pl.concat(frames)


def summary_frame(results: Results) -> pl.DataFrame:
    """Imbalance by policy with all containers placed, the most even first."""
    imbalance = [_imbalance(placed) for placed in results.values()]
    found = means(np.concatenate([one[:, -1:] for one in imbalance], axis=1))
    return pl.DataFrame(
        {
            "policy": list(results),
            "imbalance": found.mean,
            "imbalance_low": pl.Series(found.low).fill_nan(None),
            "imbalance_high": pl.Series(found.high).fill_nan(None),
            "imbalance_over_all_counts": [float(one.mean()) for one in imbalance],
            "pending": [
                float(np.mean([one.pending for one in placed])) for placed in results.values()
            ],
            "overfull_nodes": [
                float(np.mean([(one.use > 1).any(axis=1).sum() for one in placed]))
                for placed in results.values()
            ],
        }
    ).sort("imbalance", "policy")


def timing_frame(results: Results, containers: int) -> pl.DataFrame:
    """Mean wall-clock time of a decision by policy; it differs from run to run."""
    return pl.DataFrame(
        {
            "policy": list(results),
            "decision_ms": [
                1000 * float(np.mean([one.spent_s for one in placed])) / containers
                for placed in results.values()
            ],
        }
    )
