"""The regression of every service, or the pooled one for too few rows or instances.

Source: patent CN116795487A [0069]. The pooled model is tracekit's own: all services share k1 and
k2, and each has its mean (least squares on deviations from the means of services, "within").
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.interference.linear import (
    LEAST_ROWS,
    MOST_CONDITION,
    NOTHING_HELD,
    HeldOutErrors,
    Linear,
    deviations,
    fit_linear,
    folds_of,
    judge,
    lacking,
    validate,
    validate_pooled,
)
from tracekit.interference.options import How
from tracekit.interference.table import COEFFICIENTS, Table, service_means

Row = dict[str, Any]

_SLOPES = tuple(COEFFICIENTS.values())
_LIMITS = ("", "_error", "_low", "_high")
SCHEMA: dict[str, type[pl.DataType]] = {
    "service": pl.String,
    "basis": pl.String,
    "rows": pl.Int64,
    "instances": pl.Int64,
    "cpu_mean": pl.Float64,
    **{f"{name}{limit}": pl.Float64 for name in ("b0", *_SLOPES) for limit in _LIMITS},
    "k2_own": pl.Float64,
    "k2_weight": pl.Float64,
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
    """The coefficients of each service, and those of the pooled model, which all services share.

    Parameters
    ----------
    services : DataFrame
        One row for each service. ``basis`` says where k1 and k2 come from: the service's ``own``
        rows, the ``pooled`` model, or ``none`` for values of 0. ``verdict`` is about that fit. If
        the basis is not ``own``, ``reason`` says why an own fit was impossible. If an own ``k2`` is
        shrunk (see ``shrunk``), ``k2_own`` is its value before, and ``k2_weight`` the weight of
        that value.
    pooled : DataFrame
        One row of the pooled model, with a ``service`` of NULL.
    """

    services: pl.DataFrame
    pooled: pl.DataFrame


def fit_services(
    table: Table, how: How, rng: np.random.Generator, *, proxy: bool, shrink: bool = True
) -> Fitted:
    """Fit a regression to each service of a table, and the pooled model to all rows.

    Parameters
    ----------
    rng : Generator
        Draws the folds of the cross-validation.
    proxy : bool
        Whether neighbours are known by node alone.
    shrink : bool
        Whether each service's k2, the cost of neighbours on its socket, is shrunk towards the
        pooled k2. With ``how.nonneg`` it never is, because a bounded k2 has no standard error.
    """
    fitted = _Fitter(table, how, rng, proxy=proxy).fit()
    if not shrink or how.nonneg or "k2" not in table.coefficients:
        return fitted
    drawn = with_shrunk_k2(table, fitted.services, fitted.pooled["k2"][0])
    return Fitted(services=drawn, pooled=fitted.pooled)


class _Fitter:
    """The regressions of one table."""

    def __init__(self, table: Table, how: How, rng: np.random.Generator, *, proxy: bool) -> None:
        self._table, self._how, self._rng, self._proxy = table, how, rng, proxy
        self._instances = len(np.unique(table.instance))
        # rows of one instance are dependent
        self._clustered = self._instances < len(table.target)

    def fit(self) -> Fitted:
        pooled, row = self._pooled()
        rows = [self._service(at, where, pooled, row) for at, where in self._table.ranges()]
        return Fitted(
            services=pl.DataFrame(rows, schema=SCHEMA), pooled=pl.DataFrame([row], schema=SCHEMA)
        )

    def _service(self, at: int, where: slice, pooled: Linear | None, pooled_row: Row) -> Row:
        columns, target = self._table.regressors[where], self._table.target[where]
        names, groups = np.unique(self._table.instance[where], return_inverse=True)
        about = {
            "service": self._table.services[at],
            "rows": len(target),
            "instances": len(names),
            "cpu_mean": float(target.mean()),
        }
        fitted, held = None, NOTHING_HELD
        lacks = lacking(len(target), instances=len(names) if self._clustered else None)
        if not lacks:
            fitted = fit_linear(
                columns,
                target,
                self._how,
                groups=groups.astype(np.int64) if self._clustered else None,
                tested=self._table.pressures,
            )
            fold = folds_of(groups.astype(np.int64), self._rng)
            held = validate(columns, target, fold, self._how)
        verdict, reason = judge(fitted, held, lacks=lacks, proxy=self._proxy)
        if fitted is not None and fitted.condition <= MOST_CONDITION:
            numbers = self._numbers(fitted, held)
            return _full_row(
                {**about, "basis": "own", **numbers, "verdict": verdict, "reason": reason}
            )
        return _full_row({**self._fallback(about, columns, pooled, pooled_row), "reason": reason})

    def _fallback(
        self, about: Row, columns: FloatArray, pooled: Linear | None, pooled_row: Row
    ) -> Row:
        """The pooled coefficients, with an intercept from the means of the service."""
        if pooled is None:
            zero = {"b0": about["cpu_mean"], **dict.fromkeys(self._table.coefficients, 0.0)}
            return {**about, **zero, "basis": "none", "verdict": "not identifiable"}
        pooled_k = {name: pooled_row[name] for name in SCHEMA if name.startswith("k")}
        expected = float(columns.mean(axis=0) @ pooled.coefficients[1:])
        return {
            **about,
            **pooled_k,
            "b0": about["cpu_mean"] - expected,
            "basis": "pooled",
            "negative": pooled_row["negative"],
            "verdict": pooled_row["verdict"],
        }

    def _pooled(self) -> tuple[Linear | None, Row]:
        table = self._table
        about: Row = {
            "rows": len(table.target),
            "instances": self._instances,
            "cpu_mean": float(table.target.mean()) if len(table.target) else None,
        }
        # the mean of each service takes a degree of freedom
        lacks = lacking(len(table.target), needed=LEAST_ROWS + len(table.services))
        fitted, held = None, NOTHING_HELD
        if not lacks:
            columns, target = deviations(table, np.ones(len(table.target), dtype=np.bool_))
            fitted = fit_linear(
                columns,
                target,
                self._how,
                groups=table.instance if self._clustered else None,
                absorbed=len(table.services),
                tested=table.pressures,
            )
            held = validate_pooled(table, folds_of(table.instance, self._rng), self._how)
        verdict, reason = judge(fitted, held, lacks=lacks, proxy=self._proxy)
        identified = fitted if fitted and fitted.condition <= MOST_CONDITION else None
        numbers = self._numbers(identified, held) if identified else {}
        basis = "pooled" if identified else "none"
        judged = {"basis": basis, "verdict": verdict, "reason": reason, "b0": None}
        return identified, _full_row({**about, **numbers, **judged})

    def _numbers(self, fitted: Linear, held: HeldOutErrors) -> Row:
        numbers: Row = {}
        for at, name in enumerate(("b0", *self._table.coefficients)):
            values = (fitted.coefficients, fitted.errors, fitted.low, fitted.high)
            numbers |= {
                f"{name}{end}": float(v[at]) for end, v in zip(_LIMITS, values, strict=True)
            }
        pressures = fitted.coefficients[1 : 1 + self._table.pressures]
        return {
            **numbers,
            "r2": fitted.r2,
            "rmse": fitted.rmse,
            "cv_rmse": held.rmse,
            "cv_rmse_constant": held.rmse_constant,
            "condition": fitted.condition,
            "p_value": fitted.p_value,
            "negative": bool((pressures < 0).any()),
        }


def _full_row(row: Row) -> Row:
    """A row with all columns, and NULL for a value that is not finite."""
    return {name: _number(row.get(name)) for name in SCHEMA}


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def predictions(table: Table, fitted: Fitted) -> FloatArray:
    """Return the CPU that a fit predicts for each row of a table, shape (rows,)."""
    slopes = fitted.services.select(table.coefficients).fill_null(0.0).to_numpy()
    own = fitted.services["b0"].to_numpy()[table.service]
    return np.asarray(own + (table.regressors * slopes[table.service]).sum(axis=1))


# Shrinkage of the k2 of services towards the pooled k2.
#
# The cost of other containers on a socket is small. The own k2 of a service with few containers is
# therefore mostly noise, and placement by it follows noise. Empirical Bayes (Morris, JASA 78, 1983,
# 47-55): the true k2 of services scatter about the pooled k2 with variance ``tau2`` (Paule and
# Mandel, 1982). An own estimate of variance V moves towards the pooled k2 by the share
# ``B = (S - 3) / (S - 1) * V / (V + tau2)``, with S services. Its variance becomes
# ``V * (1 - (1 - w) * B)`` plus the variance of B, with w its share of all weights
# ``1 / (V + tau2)``. The intercept changes so that the line passes through the means; k1 does not
# change.

#: The least services from which the scatter of k2 is estimated.
FEWEST = 4
_ROUNDS = 100


@dataclass(frozen=True)
class Shrunk:
    """Estimates of services after shrinkage, standard errors, and weights 0..1 of own values."""

    value: FloatArray
    error: FloatArray
    weight: FloatArray


def shrunk(own: FloatArray, error: FloatArray, towards: float) -> Shrunk:
    """Shrink the estimates of services towards a common value, by empirical Bayes (Morris 1983).

    Parameters
    ----------
    own, error : float64, shape (services,)
        The estimates and their standard errors above 0, of at least ``FEWEST`` services.
    towards : float
        The common value.
    """
    many = len(own)
    variance, apart = error**2, own - towards
    tau2 = scatter(apart, variance)
    total = variance + tau2
    gone = (many - 3) / (many - 1) * variance / total
    share = (1 / total) / (1 / total).sum()
    unsure = 2 / (many - 3) * gone**2 * (np.average(variance, weights=share) + tau2) / total
    squared = variance * (1 - (1 - share) * gone) + unsure * apart**2
    return Shrunk(own - gone * apart, np.sqrt(squared), 1 - gone)


def scatter(apart: FloatArray, variance: FloatArray) -> float:
    """Return ``tau2``, the variance of true values about a common value (Paule and Mandel).

    ``apart`` is each estimate minus the common value, and ``variance`` its squared standard error.
    The result solves ``sum(apart**2 / (variance + tau2)) == len(apart)``. It is 0 if noise explains
    all differences.
    """
    many = len(apart)

    def excess(tau2: float) -> float:
        return float((apart**2 / (variance + tau2)).sum()) - many

    low, high = 0.0, float((apart**2).max())
    if excess(low) <= 0:
        return 0.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def with_shrunk_k2(table: Table, services: pl.DataFrame, towards: float | None) -> pl.DataFrame:
    """Return the table of services with each own k2 shrunk towards the pooled k2.

    Each intercept changes so that the fit still passes through the service's means. If fewer than
    ``FEWEST`` services have an own k2, nothing changes.

    Parameters
    ----------
    services : DataFrame
        One row for each service of the table, in its order; see ``Fitted``.
    towards : float, optional
        The pooled k2; None leaves all services unchanged.
    """
    usable = (pl.col("basis") == "own") & (pl.col("k2_error") > 0)
    at = np.flatnonzero(services.select(usable.fill_null(value=False)).to_series().to_numpy())
    if towards is None or len(at) < FEWEST:
        return services
    some = services[at]
    own, error = (some[name].to_numpy() for name in ("k2", "k2_error"))
    drawn = shrunk(own, error, towards)
    # the width of the own interval in standard errors
    reach = (some["k2_high"].to_numpy() - own) / error
    mean = _means(table, table.names.index("cpu_ss"))[at]
    shift = (own - drawn.value) * mean
    changed = {
        "k2": drawn.value,
        "k2_error": drawn.error,
        "k2_low": drawn.value - reach * drawn.error,
        "k2_high": drawn.value + reach * drawn.error,
        "k2_own": own,
        "k2_weight": drawn.weight,
        **{name: some[name].to_numpy() + shift for name in ("b0", "b0_low", "b0_high")},
    }
    rows = services.to_dicts()
    for row, number in enumerate(at.tolist()):
        rows[number] |= {name: float(values[row]) for name, values in changed.items()}
        rows[number]["negative"] = any((rows[number][name] or 0) < 0 for name in ("k1", "k2"))
    return pl.DataFrame(rows, schema=services.schema)


def _means(table: Table, column: int) -> FloatArray:
    """The mean of a regressor over the rows of each service, shape (services,)."""
    every = np.ones(len(table.target), dtype=np.bool_)
    return service_means(table, table.regressors[:, column], every)
