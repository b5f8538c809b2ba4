"""Services at risk keep what they request: none of theirs is lowered by what is recommended."""

from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.study import Study
from tracekit.sizing.requests.judge import Judged, judged
from tracekit.sizing.requests.rows import services
from tracekit.sizing.use import RecordedUse

#: The column of a study that says which requests are kept; studies of before have none.
KEPT = "kept_at_risk"


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
