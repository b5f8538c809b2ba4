"""The fit on totals of sockets, or of nodes where sockets are not known.

Summing the model over the instances of a socket, each with its vCPUs, gives: what the socket uses
beyond its services' profiles is k1 and k2 times what presses on it beyond what presses on those
services elsewhere. Noise of single instances is averaged away; k1 and k2 are shared by all.
"""

from typing import Any, Literal

import numpy as np
import polars as pl

from tracekit.base.arrays import IntArray
from tracekit.interference.fit.how import How
from tracekit.interference.fit.linear import fit_linear
from tracekit.interference.fit.table import Table, service_means
from tracekit.interference.fit.validation import NOTHING_HELD, folds_of, validate
from tracekit.interference.fit.verdict import LEAST_ROWS, judge, lacking

Level = Literal["socket", "node"]


def fit_totals(
    table: Table,
    rows: pl.DataFrame,
    level: Level,
    how: How,
    rng: np.random.Generator,
    *,
    proxy: bool,
) -> dict[str, Any]:
    """Coefficients from totals.

    Parameters
    ----------
    rows : DataFrame
        The rows of the table in its order: ``host, socket, window_ms, vcpus``.

    Returns
    -------
    dict
        level, rows, and for each coefficient its value, ``_error``, ``_low`` and ``_high``; r2,
        condition, verdict, reason. No coefficients where there are too few totals.
    """
    everything = np.ones(len(table.target), dtype=np.bool_)
    columns = table.regressors - service_means(table, table.regressors, everything)[table.service]
    target = table.target - service_means(table, table.target, everything)[table.service]
    names = ["host", "window_ms"] if level == "node" else ["host", "socket", "window_ms"]
    group = _numbered(rows.select(pl.struct(names)).to_series())
    weight = rows["vcpus"].to_numpy()
    many = int(group.max()) + 1 if len(group) else 0
    size = np.bincount(group, weight, many)
    total = np.bincount(group, weight * target, many) / size
    pressed = np.stack(
        [np.bincount(group, weight * column, many) / size for column in columns.T], axis=1
    )
    found: dict[str, Any] = {"level": level, "rows": many}
    lacks = lacking(many, needed=LEAST_ROWS + len(table.names))
    if lacks:
        verdict, reason = judge(None, NOTHING_HELD, lacks=lacks, proxy=proxy)
        return {**found, "verdict": verdict, "reason": reason}
    place = _places(rows, group, many)
    cluster = place if len(np.unique(place)) < many else None
    fitted = fit_linear(pressed, total, how, groups=cluster, tested=table.pressures)
    held = validate(pressed, total, folds_of(place, rng), how)
    verdict, reason = judge(fitted, held, lacks="", proxy=proxy)
    for at, name in enumerate(table.coefficients, start=1):
        found |= {
            name: float(fitted.coefficients[at]),
            f"{name}_error": float(fitted.errors[at]),
            f"{name}_low": float(fitted.low[at]),
            f"{name}_high": float(fitted.high[at]),
        }
    numbers = {"r2": fitted.r2, "condition": fitted.condition}
    known = {key: value if np.isfinite(value) else None for key, value in numbers.items()}
    return {**found, **known, "verdict": verdict, "reason": reason}


def _numbered(values: pl.Series) -> IntArray:
    return (values.rank("dense") - 1).to_numpy().astype(np.int64)


def _places(rows: pl.DataFrame, group: IntArray, many: int) -> IntArray:
    """The host of each total: totals of one host at several times err together."""
    place = np.zeros(many, dtype=np.int64)
    place[group] = _numbered(rows["host"])
    return place
