"""Frames of a placement study: by set, by number of containers, by resource."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.metrics import LEVEL
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.cluster.workload import Workload
from tracekit.replay.chance.student import DECIMALS, Means

#: Imbalance is noted each time so many more containers have come.
EVERY = 100


@dataclass(frozen=True, kw_only=True)
class Placed:
    """One policy's placement of one set.

    Parameters
    ----------
    imbalance : float64, shape (checkpoints,)
    use : float64, shape (nodes, resources)
        Requests over capacity when all have come.
    """

    imbalance: FloatArray
    use: FloatArray
    resources: tuple[str, ...]
    pending: int
    spent_s: float


def counts(containers: int) -> list[int]:
    """Numbers of containers at which imbalance is noted; the last is all of them."""
    return [*range(EVERY, containers, EVERY), containers]


Results = dict[str, list[Placed]]


def imbalance_frame(results: Results, containers: int, rng: np.random.Generator) -> pl.DataFrame:
    """Imbalance by policy and number of containers, with 95 % intervals over sets."""
    found = mean_interval(_side_by_side([_imbalance(placed) for placed in results.values()]), rng)
    at = counts(containers)
    return pl.DataFrame(
        {
            "policy": np.repeat(list(results), len(at)).tolist(),
            "containers": at * len(results),
            "imbalance": found.mean,
            "imbalance_low": found.low,
            "imbalance_high": found.high,
        }
    )


def _imbalance(placed: list[Placed]) -> FloatArray:
    """Shape (sets, checkpoints)."""
    return np.stack([one.imbalance for one in placed])


def _side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """One matrix, shape (sets, columns); drawn at once, an interval hangs on no other column."""
    return np.concatenate(columns, axis=1)


def use_by_count(load: Workload, node: IntArray, first: int) -> FloatArray:
    """Requests of the first containers over capacity, shape (nodes, resources)."""
    placed = np.flatnonzero(node[:first] >= 0)
    taken = np.zeros(load.nodes.capacity.shape)
    np.add.at(taken, node[placed], load.containers.request[placed])
    return np.asarray(taken / load.nodes.capacity)


def sets_frame(results: Results, containers: int) -> pl.DataFrame:
    """Imbalance by policy, set and number of containers, as it came out."""
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
    """The same, means over sets."""
    return ends.group_by("policy", "resource", maintain_order=True).agg(
        pl.exclude("set").cast(pl.Float64).mean()
    )


def nodes_frame(results: Results) -> pl.DataFrame:
    """Use of every node by policy and resource: the least used one is 1; means over sets."""
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


def summary_frame(results: Results, rng: np.random.Generator) -> pl.DataFrame:
    """Imbalance by policy with all containers placed, the most even first."""
    imbalance = [_imbalance(placed) for placed in results.values()]
    found = mean_interval(_side_by_side([one[:, -1:] for one in imbalance]), rng)
    return pl.DataFrame(
        {
            "policy": list(results),
            "imbalance": found.mean,
            "imbalance_low": found.low,
            "imbalance_high": found.high,
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
    """Decision time; wall clock, so that it differs from run to run."""
    return pl.DataFrame(
        {
            "policy": list(results),
            "decision_ms": [
                1000 * float(np.mean([one.spent_s for one in placed])) / containers
                for placed in results.values()
            ],
        }
    )


# Confidence intervals of means by resampling; what is paired stays paired.

RESAMPLES = 2000


def mean_interval(samples: FloatArray, rng: np.random.Generator) -> Means:
    """The percentile bootstrap interval of each column's mean, expanded for few rows.

    Rows are resampled whole, so that columns stay paired. Plain percentiles are too narrow for few
    rows; they are taken further out, at Phi(-sqrt(n / (n - 1)) t), with t the quantile of Student's
    distribution with n - 1 degrees of freedom (Hesterberg, The American Statistician 2015, 69(4),
    section 4.4: expanded percentile interval). With five values it covers 0.92
    where they are normal and 0.81 where they are lognormal (docs/benchmarks/chance.txt).

    Parameters
    ----------
    samples : float64, shape (rows, columns)
        At least one row; a column with NaN gives NaN.

    Returns
    -------
    Means
        With one row, both limits are its values.
    """
    rows = len(samples)
    drawn = rng.integers(rows, size=(RESAMPLES, rows))
    counts = np.zeros((RESAMPLES, rows))
    np.add.at(counts, (np.arange(RESAMPLES)[:, None], drawn), 1.0)
    means = np.round(counts @ samples / rows, DECIMALS)
    tail = _tail(rows)
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return Means(
        mean=np.round(samples.mean(axis=0), DECIMALS),
        low=np.round(low, DECIMALS),
        high=np.round(high, DECIMALS),
    )


def _tail(rows: int) -> float:
    """The share of resampled means beyond each limit."""
    from scipy.special import ndtr, stdtrit  # noqa: PLC0415 - slow to import

    if rows < 2:
        return 0.0
    t = float(stdtrit(rows - 1, (1 + LEVEL) / 2))
    return float(ndtr(-np.sqrt(rows / (rows - 1)) * t))
