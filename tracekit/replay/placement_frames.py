"""What a placement study found, as frames: by number of containers, by resource, by claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.replay.bootstrap import mean_interval
from tracekit.replay.claims import IMBALANCE, RANGES

FloatArray = NDArray[np.float64]

#: Whose claims are checked.
OWN = "tbesk"

#: Imbalance is noted each time so many more containers have come.
EVERY = 100


@dataclass(frozen=True, kw_only=True)
class Placed:
    """What one policy made of one set.

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
    frames = []
    for name, placed in results.items():
        found = mean_interval(np.stack([one.imbalance for one in placed]), rng)
        frames.append(
            pl.DataFrame(
                {
                    "policy": [name] * len(found.mean),
                    "containers": counts(containers),
                    "imbalance": found.mean,
                    "imbalance_low": found.low,
                    "imbalance_high": found.high,
                }
            )
        )
    return pl.concat(frames)


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


def summary_frame(results: Results, rng: np.random.Generator) -> pl.DataFrame:
    """Imbalance by policy with all containers placed, the most even first."""
    rows = []
    for name, placed in results.items():
        last = np.array([[one.imbalance[-1], one.imbalance.mean()] for one in placed])
        found = mean_interval(last, rng)
        rows.append(
            {
                "policy": name,
                "imbalance": float(found.mean[0]),
                "imbalance_low": float(found.low[0]),
                "imbalance_high": float(found.high[0]),
                "imbalance_over_all_counts": float(found.mean[1]),
                "pending": float(np.mean([one.pending for one in placed])),
            }
        )
    return pl.DataFrame(rows).sort("imbalance", "policy")


def claims_frame(results: Results, rng: np.random.Generator) -> pl.DataFrame:
    """Relative change from the other policy to TBESK when all have come, paired by set."""
    rows: list[dict[str, Any]] = []
    for claim in IMBALANCE:
        if OWN not in results or claim.against not in results:
            continue
        own, other = (
            np.array([one.imbalance[-1] for one in results[name]]) for name in (OWN, claim.against)
        )
        found = mean_interval((own / other - 1.0)[:, None], rng)
        rows.append(
            {
                "against": claim.against,
                "reported_change": claim.change,
                "change": float(found.mean[0]),
                "change_low": float(found.low[0]),
                "change_high": float(found.high[0]),
                "verdict": verdict(float(found.low[0]), float(found.high[0])),
            }
        )
    schema = {
        "against": pl.String,
        "reported_change": pl.Float64,
        "change": pl.Float64,
        "change_low": pl.Float64,
        "change_high": pl.Float64,
        "verdict": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def verdict(low: float, high: float) -> str:
    """What an interval says of a claim that TBESK is less imbalanced."""
    if high < 0:
        return "direction agrees"
    return "direction is the opposite" if low > 0 else "no difference seen"


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
