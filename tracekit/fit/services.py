"""The regression of every service, and the pooled one where a service has too few rows.

Source: patent CN116795487A [0069]; the pooled model is tracekit's own: all services share k1 and
k2, each keeps its mean (least squares on deviations from the service's means, "within").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.fit.linear import How, Linear, fit_linear
from tracekit.fit.table import COEFFICIENTS, Table
from tracekit.fit.validation import Held, deviations, folds_of, validate, validate_pooled
from tracekit.fit.verdict import LEAST_ROWS, MOST_CONDITION, judge

_SLOPES = tuple(COEFFICIENTS.values())
_LIMITS = ("", "_error", "_low", "_high")
SCHEMA: dict[str, type[pl.DataType]] = {
    "service": pl.String,
    "basis": pl.String,
    "rows": pl.Int64,
    "instances": pl.Int64,
    "cpu_mean": pl.Float64,
    **{f"{name}{limit}": pl.Float64 for name in ("b0", *_SLOPES) for limit in _LIMITS},
    "r2": pl.Float64,
    "rmse": pl.Float64,
    "cv_rmse": pl.Float64,
    "cv_rmse_constant": pl.Float64,
    "condition": pl.Float64,
    "p_value": pl.Float64,
    "negative": pl.Boolean,
    "verdict": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True)
class Fitted:
    """What came out.

    Parameters
    ----------
    services : DataFrame
        One row per service. ``basis`` says whose k1 and k2 stand there: ``own``, ``pooled``, or
        ``none`` (they are 0). Verdict and reason are about the basis named; of an ``own`` fit that
        was not possible ``reason`` says why.
    pooled : DataFrame
        One row: the pooled model; ``service`` is NULL.
    """

    services: pl.DataFrame
    pooled: pl.DataFrame


def fit_services(table: Table, how: How, rng: np.random.Generator, *, proxy: bool) -> Fitted:
    """Fit every service of a table.

    Parameters
    ----------
    rng : Generator
        Draws the folds of the cross-validation.
    """
    pooled, pooled_row = _pooled(table, how, rng, proxy=proxy)
    clustered = len(np.unique(table.instance)) < len(table.target)
    rows = []
    for at, where in table.ranges():
        groups = np.unique(table.instance[where], return_inverse=True)[1].astype(np.int64)
        rows.append(
            _service(table, at, where, groups, how, rng, proxy, clustered, pooled, pooled_row)
        )
    return Fitted(
        services=pl.DataFrame(rows, schema=SCHEMA),
        pooled=pl.DataFrame([pooled_row], schema=SCHEMA),
    )


def _service(
    table: Table,
    at: int,
    where: slice,
    groups: Any,
    how: How,
    rng: np.random.Generator,
    proxy: bool,
    clustered: bool,
    pooled: Linear | None,
    pooled_row: dict[str, Any],
) -> dict[str, Any]:
    columns, target = table.regressors[where], table.target[where]
    about = {
        "service": table.services[at],
        "rows": len(target),
        "instances": int(groups.max()) + 1,
        "cpu_mean": float(target.mean()),
    }
    enough = len(target) >= LEAST_ROWS and (not clustered or about["instances"] > 2)
    fitted = None
    if enough:
        cluster = groups if clustered else None
        fitted = fit_linear(columns, target, how, groups=cluster, tested=table.pressures)
    held = (
        validate(columns, target, folds_of(groups, 5, rng), how)
        if fitted is not None
        else Held(float("nan"), float("nan"))
    )
    verdict, reason = judge(fitted, held, rows=len(target), proxy=proxy)
    if fitted is not None and fitted.condition <= MOST_CONDITION:
        row = {**about, "basis": "own", **_numbers(table, fitted, held)}
        return _known({**row, "verdict": verdict, "reason": reason})
    return _known(_fallback(table, about, columns, pooled, pooled_row, reason))


def _fallback(
    table: Table,
    about: dict[str, Any],
    columns: Any,
    pooled: Linear | None,
    pooled_row: dict[str, Any],
    reason: str,
) -> dict[str, Any]:
    """The pooled coefficients with the intercept that the service's own means give."""
    if pooled is None:
        zero = {"b0": about["cpu_mean"], **dict.fromkeys(table.coefficients, 0.0)}
        return {**about, **zero, "basis": "none", "verdict": "not identifiable", "reason": reason}
    slopes = pooled.coefficients[1:]
    kept = {name: pooled_row[name] for name in SCHEMA if name.startswith("k")}
    return {
        **about,
        **kept,
        "b0": about["cpu_mean"] - float(columns.mean(axis=0) @ slopes),
        "basis": "pooled",
        "negative": pooled_row["negative"],
        "verdict": pooled_row["verdict"],
        "reason": reason,
    }


def _pooled(
    table: Table, how: How, rng: np.random.Generator, *, proxy: bool
) -> tuple[Linear | None, dict[str, Any]]:
    about = {
        "service": None,
        "basis": "pooled",
        "rows": len(table.target),
        "instances": len(np.unique(table.instance)),
        "cpu_mean": float(table.target.mean()) if len(table.target) else None,
    }
    everything = np.ones(len(table.target), dtype=np.bool_)
    columns, target = deviations(table, everything)
    free = len(target) - len(table.services)
    fitted = None
    held = Held(float("nan"), float("nan"))
    if free >= LEAST_ROWS:
        clustered = about["instances"] < len(target)
        fitted = fit_linear(
            columns,
            target,
            how,
            groups=table.instance if clustered else None,
            absorbed=len(table.services),
            tested=table.pressures,
        )
        held = validate_pooled(table, folds_of(table.instance, 5, rng), how)
    verdict, reason = judge(fitted, held, rows=max(free, 0), proxy=proxy)
    identified = fitted if fitted and fitted.condition <= MOST_CONDITION else None
    numbers = _numbers(table, identified, held) if identified else {"basis": "none"}
    row = {**about, **numbers, "verdict": verdict, "reason": reason, "b0": None}
    return identified, _known(row)


def _numbers(table: Table, fitted: Linear, held: Held) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at, name in enumerate(("b0", *table.coefficients)):
        values = (fitted.coefficients, fitted.errors, fitted.low, fitted.high)
        found |= {
            f"{name}{limit}": float(v[at]) for limit, v in zip(_LIMITS, values, strict=True)
        }
    slopes = dict(zip(table.coefficients, fitted.coefficients[1:].tolist(), strict=True))
    return {
        **found,
        "r2": fitted.r2,
        "rmse": fitted.rmse,
        "cv_rmse": held.rmse,
        "cv_rmse_constant": held.rmse_constant,
        "condition": fitted.condition,
        "p_value": fitted.p_value,
        "negative": any(slopes.get(name, 0.0) < 0 for name in ("k1", "k2")),
    }


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """The row with NULL for what is no number, and all columns there."""
    return {
        name: None if isinstance(value := row.get(name), float) and not np.isfinite(value) else value
        for name in SCHEMA
    }


def predictions(table: Table, fitted: Fitted) -> np.ndarray:
    """What the fitted services foretell for the rows of the table, shape (rows,)."""
    slopes = fitted.services.select(table.coefficients).fill_null(0.0).to_numpy()
    own = fitted.services["b0"].to_numpy()[table.service]
    return np.asarray(own + (table.regressors * slopes[table.service]).sum(axis=1))

