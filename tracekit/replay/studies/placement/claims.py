"""Claims of the TBESK paper on imbalance and use, judged by the results here.

The paper's figures are "on the whole" (section 5.3.1): over all numbers of containers, not when the
last has come. Both are judged here, each under its name.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray
from tracekit.replay.chance.bootstrap import mean_interval
from tracekit.replay.studies.placement.frames import IMBALANCE, INITIAL_SHARE, OWN, Results

WHOLE, END = "all counts", "at the end"
_CLAIMS = {
    "against": pl.String,
    "over": pl.String,
    "reported_change": pl.Float64,
    "change": pl.Float64,
    "change_low": pl.Float64,
    "change_high": pl.Float64,
    "below_share": pl.Float64,
    "verdict": pl.String,
}


def claims_frame(results: Results, rng: np.random.Generator) -> pl.DataFrame:
    """Relative change of imbalance from the other policy to TBESK, paired by set.

    Two rows for each policy of ``claims.IMBALANCE``: of the mean over all numbers of containers,
    which is what the paper reports, and when all have come. ``below_share`` is the share of sets
    and numbers of containers at which TBESK is less imbalanced.
    """
    claims = [claim for claim in IMBALANCE if {OWN, claim.against} <= set(results)]
    if not claims:
        return pl.DataFrame(schema=_CLAIMS)
    curves = {name: _curves(results, name) for name in (OWN, *(one.against for one in claims))}
    rows, changes = [], []
    for claim in claims:
        own, other = curves[OWN], curves[claim.against]
        for over, part in ((WHOLE, slice(None)), (END, slice(-1, None))):
            mean, against = own[:, part].mean(axis=1), other[:, part].mean(axis=1)
            changes.append(mean / against - 1.0)
            rows.append(
                {
                    "against": claim.against,
                    "over": over,
                    "reported_change": claim.change if over == WHOLE else None,
                    "below_share": float((own[:, part] < other[:, part]).mean()),
                }
            )
    found = mean_interval(np.stack(changes, axis=1), rng)
    limits = zip(found.mean, found.low, found.high, strict=True)
    judged = [
        {**row, "change": mean, "change_low": low, "change_high": high,
         "verdict": verdict(low, high)}
        for row, (mean, low, high) in zip(rows, limits, strict=True)
    ]  # fmt: skip
    return pl.DataFrame(judged, schema=_CLAIMS)


def verdict(low: float, high: float) -> str:
    """The verdict of an interval on a claim that TBESK is less imbalanced."""
    if high < 0:
        return "direction agrees"
    return "direction is the opposite" if low > 0 else "no difference seen"


def statements_frame(results: Results, rng: np.random.Generator) -> pl.DataFrame:
    """Statements of the paper in words, each with a number that can refute it.

    That TBESK's imbalance falls at first: its relative change over the first quarter of the
    numbers of containers. That use of cpu and of memory hardly differs between TBESK, LRA and BRA:
    the widest range of nodes less the narrowest, among the three.
    """
    schema = {
        "statement": pl.String,
        "here": pl.Float64,
        "here_low": pl.Float64,
        "here_high": pl.Float64,
        "verdict": pl.String,
    }
    said: list[tuple[str, float, FloatArray]] = []
    if OWN in results:
        curve = _curves(results, OWN)
        last = max(round(INITIAL_SHARE * curve.shape[1]), 2) - 1
        if curve.shape[1] > last:
            change = curve[:, last] / curve[:, 0] - 1.0
            said.append(("imbalance of tbesk falls at first", 0.0, change))
    trio = [name for name in (OWN, "lra", "bra") if name in results]
    if len(trio) == 3:
        for resource in ("cpu", "memory"):
            widths = np.stack([_widths(results, name, resource) for name in trio])
            text = f"{resource} of nodes hardly differs between the three"
            said.append((text, HARDLY, np.ptp(widths, axis=0)))
    if not said:
        return pl.DataFrame(schema=schema)
    found = mean_interval(np.stack([values for *_, values in said], axis=1), rng)
    rows = [
        {
            "statement": text,
            "here": float(found.mean[at]),
            "here_low": float(found.low[at]),
            "here_high": float(found.high[at]),
            "verdict": _said(edge, float(found.low[at]), float(found.high[at])),
        }
        for at, (text, edge, _) in enumerate(said)
    ]
    return pl.DataFrame(rows, schema=schema)


#: Ranges of nodes that differ by less than this share of capacity hardly differ.
HARDLY = 0.1


def _said(edge: float, low: float, high: float) -> str:
    """The verdict of an interval on a statement that a number is below an edge."""
    return "agrees" if high < edge else "the opposite" if low > edge else "not told"


def _curves(results: Results, name: str) -> FloatArray:
    """Imbalance by set and number of containers, shape (sets, checkpoints)."""
    return np.stack([one.imbalance for one in results[name]])


def _widths(results: Results, name: str, resource: str) -> FloatArray:
    """Most used node less the least used of each set, shape (sets,)."""
    found: Sequence[float] = [
        float(np.ptp(one.use[:, one.resources.index(resource)])) for one in results[name]
    ]
    return np.array(found)
