"""Services at risk keep what they request: none of theirs is lowered by what is recommended."""

from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.arrays import BoolArray, FloatArray
from tracekit.replay.workload.requests.given import SUBJECT
from tracekit.sizing.requests.judge import Judged, judged
from tracekit.sizing.requests.rows import UNITS, amount, services
from tracekit.sizing.use import RecordedUse
from tracekit.study import Study
from tracekit.units import percent
from tracekit.words import few, listed, short_hash

#: The column of a study that says which requests are kept; studies of before have none.
KEPT = "kept_at_risk"
#: So many services are described, others are counted.
_DESCRIBED = 5


class Spared(NamedTuple):
    """What is recommended where nobody at risk is cut, its judgement, and who was kept."""

    request: FloatArray
    found: Judged
    kept: BoolArray


def spared(request: FloatArray, rest: RecordedUse, asked: FloatArray, risk_share: float) -> Spared:
    """Leave a request as it is where a lower one is exceeded too often; the others stand.

    A single pass: who is kept is decided and judged on the same time, and what is kept may be at
    risk too.

    Parameters
    ----------
    request : float64, shape (services, 2)
        What is recommended; NaN keeps what is requested now.
    asked : float64, likewise
        What is requested now.
    """
    found = judged(rest, request)
    kept = (found.above.sum(axis=0) > risk_share * found.steps.sum(axis=0)) & (request < asked)
    if not kept.any():
        return Spared(request, found, kept)
    request = np.where(kept, np.nan, request)
    return Spared(request, judged(rest, request), kept)


def kept_at_risk(study: Study) -> pl.DataFrame:
    """Rows of which the request stays, as a lower one is exceeded too often; the worst first."""
    rows = services(study)
    if KEPT not in rows.columns:
        return rows.clear()
    return rows.filter(KEPT).sort("above_share", descending=True, maintain_order=True)


def spared_told(study: Study) -> str:
    """Whose request is not lowered, a sentence or two; empty where nobody's is kept."""
    rows = kept_at_risk(study)
    if not rows.height:
        return ""
    told = [
        f"{short_hash(one['service'])} keeps {amount(one['request_now'], one['resource'])}"
        f" {UNITS[one['resource']][1]} of {UNITS[one['resource']][0]}"
        f" ({percent(one['above_share'])} above that)"
        for one in rows.head(_DESCRIBED).to_dicts()
    ]
    more = rows[_DESCRIBED:]["service"].unique(maintain_order=True).to_list()
    others = [f"{len(more):,} more: {few(more)}"] if more else []
    return (
        f"No request is lowered where more than {percent(study.about['risk_share'], 0)} of"
        f" container-steps are above what {study.about[SUBJECT]} gives: {listed(told + others)}."
        " Who is kept was decided on the time that judges."
    )
