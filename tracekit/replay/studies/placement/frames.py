"""Frames of a placement study: by number of containers, by resource, by claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray
from tracekit.replay.chance.bootstrap import mean_interval

# What the TBESK paper reports of its placement experiment, to stand beside what came out here.
# Source: Geng and Wang, C.S.A. 2023 32(4) 187-196, section 5; the tables with its nodes and pods
# are not to be had, so that only directions can be compared.


@dataclass(frozen=True, kw_only=True)
class Claim:
    """TBESK against another policy.

    Parameters
    ----------
    change : float, optional
        Reported relative change of mean imbalance on the whole (section 5.3.1), over all numbers
        of containers; below 0 for less. None where the paper has a figure only, which shows TBESK
        below where there are many containers.
    """

    against: str
    change: float | None


@dataclass(frozen=True, kw_only=True)
class RangeClaim:
    """Least and most used node under a policy, in points of utilization at all pods.

    Parameters
    ----------
    low, high : float, optional
        As fractions of capacity.
    difference : float, optional
        Where the paper reports the difference alone.
    """

    policy: str
    resource: str
    low: float | None = None
    high: float | None = None
    difference: float | None = None

    @property
    def width(self) -> float:
        """Reported difference between the most and the least used node."""
        if self.difference is not None:
            return self.difference
        return (self.high or 0.0) - (self.low or 0.0)


IMBALANCE = (
    Claim(against="lra", change=-0.24),
    Claim(against="bra", change=-0.21),
    Claim(against="cwt", change=None),
    Claim(against="bes", change=None),
)

#: "In the initial phase" TBESK's imbalance falls: what share of the numbers of containers that is.
INITIAL_SHARE = 0.25

RANGES = (
    RangeClaim(policy="tbesk", resource="net", low=0.55, high=0.95),
    RangeClaim(policy="tbesk", resource="disk", low=0.43, high=0.98),
    RangeClaim(policy="lra", resource="net", difference=0.54),
    RangeClaim(policy="lra", resource="disk", difference=0.65),
    RangeClaim(policy="bra", resource="net", difference=0.60),
    RangeClaim(policy="bra", resource="disk", difference=0.80),
)


#: Whose claims are checked.
OWN = "tbesk"

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


def use_frame(results: Results) -> pl.DataFrame:
    """Least, mean and most used node by policy and resource, means over sets."""
    rows = [
        {
            "policy": name,
            "resource": resource,
            "low_fraction": float(np.mean([one.use[:, at].min() for one in placed])),
            "mean_fraction": float(np.mean([one.use[:, at].mean() for one in placed])),
            "high_fraction": float(np.mean([one.use[:, at].max() for one in placed])),
            "overfull_nodes": float(np.mean([(one.use[:, at] > 1).sum() for one in placed])),
        }
        for name, placed in results.items()
        for at, resource in enumerate(placed[0].resources)
    ]
    return pl.DataFrame(rows)


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


def ranges_frame(results: Results) -> pl.DataFrame:
    """How far nodes lie apart in a resource, beside what the paper reports."""
    rows: list[dict[str, Any]] = []
    for claim in RANGES:
        if claim.policy in results:
            use = [one.use[:, one.resources.index(claim.resource)] for one in results[claim.policy]]
            rows.append(
                {
                    "policy": claim.policy,
                    "resource": claim.resource,
                    "reported_difference": claim.width,
                    "difference": float(np.mean([np.ptp(one) for one in use])),
                }
            )
    schema = {
        "policy": pl.String,
        "resource": pl.String,
        "reported_difference": pl.Float64,
        "difference": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema)


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
