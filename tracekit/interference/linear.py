"""Linear regression with what judges it: errors, intervals, condition, errors on rows held out.

Least squares (patent CN116795487A [0069]); coefficients that must not be negative are an option.
The intercept is never bounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import fdtrc, stdtrit

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.words import counted
from tracekit.interference.options import How
from tracekit.interference.table import Table, service_means


def standard_errors(
    columns: FloatArray, residual: FloatArray, used: int, groups: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and the covariance."""
    rows = len(residual)
    bread = np.asarray(np.linalg.pinv(columns.T.copy() @ columns), dtype=np.float64)
    if groups is not None:
        covariance = _clustered(columns, residual, bread, groups)
    elif rows <= used:
        covariance = np.full((columns.shape[1],) * 2, np.nan)
    else:
        noise = float((residual**2).sum()) / (rows - used)
        covariance = noise * bread @ (columns.T @ columns) @ bread
    return np.sqrt(np.clip(np.diag(covariance), 0, None)), covariance


def _clustered(
    columns: FloatArray, residual: FloatArray, bread: FloatArray, groups: IntArray
) -> FloatArray:
    """The covariance where rows of one group err together: a jackknife over groups.

    Each group's residuals are those it would have if it had been left out (CR3 of Bell &
    McCaffrey 2002); the groups' own sums are small matrices, solved all at once.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sorted_columns = columns[order]
    scores = np.add.reduceat(sorted_columns * residual[order][:, None], starts, axis=0)
    products = sorted_columns[:, :, None] * sorted_columns[:, None, :]
    own = np.add.reduceat(products, starts, axis=0) @ bread
    without = np.linalg.pinv(np.eye(columns.shape[1]) - own)
    alone = (without @ scores[:, :, None])[:, :, 0]
    many = len(starts)
    return np.asarray(bread @ (alone.T @ alone) @ bread * ((many - 1) / many))


def wald_p_value(slopes: FloatArray, covariance: FloatArray, freedom: int) -> float:
    """Wald's test of all slopes at once, by the F distribution."""
    if freedom <= 0 or not np.isfinite(covariance).all() or not len(slopes):
        return float("nan")
    statistic = float(slopes @ np.linalg.pinv(covariance, hermitian=True) @ slopes) / len(slopes)
    return float(fdtrc(len(slopes), freedom, max(statistic, 0.0)))


#: Columns whose scaled singular values are below this share of the largest are dependent.
RANK = 1e-8


@dataclass(frozen=True, kw_only=True)
class Linear:
    """A fitted line.

    Parameters
    ----------
    coefficients, errors, low, high : float64, shape (1 + regressors,)
        Intercept first; standard errors and interval limits, NaN without degrees of freedom.
    r2 : float
        Share of the variance explained; NaN where the target does not vary.
    rmse : float
        Root of the mean squared residual, divided by the number of rows.
    condition : float
        Of the design with columns scaled to unit length (Belsley 1980); infinite if dependent.
    p_value : float
        Of the hypothesis that the coefficients of the tested regressors are 0.
    """

    coefficients: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray
    r2: float
    rmse: float
    rows: int
    condition: float
    p_value: float


def design(regressors: FloatArray) -> FloatArray:
    """The regressors behind a column of ones."""
    return np.column_stack([np.ones(len(regressors)), regressors])


def condition(columns: FloatArray) -> float:
    """Condition number of columns scaled to unit length; infinite if they are dependent."""
    length = np.sqrt((columns**2).sum(axis=0))
    if len(columns) < columns.shape[1] or (length == 0).any():
        return float("inf")
    found = np.linalg.svd(columns / length, compute_uv=False)
    return float(found[0] / found[-1]) if found[-1] > RANK * found[0] else float("inf")


def solve(
    regressors: FloatArray, target: FloatArray, how: How | None = None, *, intercept: bool = True
) -> FloatArray:
    """Coefficients alone, intercept first (0 if there is none); shape (1 + regressors,)."""
    return _solved(regressors, target, how or How(), intercept=intercept)


def fit_linear(
    regressors: FloatArray,
    target: FloatArray,
    how: How | None = None,
    *,
    groups: IntArray | None = None,
    absorbed: int | None = None,
    tested: int | None = None,
) -> Linear:
    """Fit a line and judge it.

    Parameters
    ----------
    regressors : float64, shape (rows, regressors)
    target : float64, shape (rows,)
    groups : int64, shape (rows,), optional
        Rows of one group may err together (an instance over time): errors are then those of a
        jackknife over groups, with one degree of freedom less than there are groups.
    absorbed : int, optional
        The data are already deviations from so many means: no intercept is fitted, and so many
        degrees of freedom are gone.
    tested : int, optional
        How many of the first regressors ``p_value`` is about; all if None.
    """
    how = how or How()
    intercept = absorbed is None
    coefficients = _solved(regressors, target, how, intercept=intercept)
    columns = design(regressors) if intercept else regressors
    found = coefficients if intercept else coefficients[1:]
    residual = target - columns @ found
    used = columns.shape[1] + (absorbed or 0)
    freedom = len(target) - used if groups is None else len(np.unique(groups)) - 1
    errors, covariance = standard_errors(columns, residual, used, groups)
    if not intercept:
        errors = np.concatenate([[np.nan], errors])
    reach = stdtrit(freedom, 0.5 + how.level / 2) * errors if freedom > 0 else errors * np.nan
    centre = target.mean() if intercept else 0.0
    spread = float(((target - centre) ** 2).sum())
    first = 1 if intercept else 0
    slopes = slice(first, None if tested is None else first + tested)
    return Linear(
        coefficients=coefficients,
        errors=errors,
        low=coefficients - reach,
        high=coefficients + reach,
        r2=1 - float((residual**2).sum()) / spread if spread > 0 else float("nan"),
        rmse=float(np.sqrt((residual**2).mean())),
        rows=len(target),
        condition=condition(columns),
        p_value=wald_p_value(found[slopes], covariance[slopes, slopes], freedom),
    )


def _solved(regressors: FloatArray, target: FloatArray, how: How, *, intercept: bool) -> FloatArray:
    share = np.full(len(target), 1 / len(target))
    centre = share @ regressors if intercept else np.zeros(regressors.shape[1])
    middle = float(share @ target) if intercept else 0.0
    left, right = regressors - centre, target - middle
    slopes = _nonnegative(left, right) if how.nonneg else np.linalg.lstsq(left, right)[0]
    return np.concatenate([[middle - centre @ slopes if intercept else 0.0], slopes])


def _nonnegative(left: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import

    return np.asarray(nnls(left, right)[0])


FOLDS = 5
#: Columns of the comparison of models.
COMPARED = {
    "model": pl.String,
    "cv_rmse": pl.Float64,
    "cv_rmse_constant": pl.Float64,
    "saved_share": pl.Float64,
    "saved_low": pl.Float64,
    "saved_high": pl.Float64,
}


@dataclass(frozen=True)
class Held:
    """Errors on rows that were held out: root mean squares; NaN where nothing could be held."""

    rmse: float
    rmse_constant: float

    @property
    def better(self) -> bool:
        """Whether neighbours help to foretell a row that was not seen."""
        return self.rmse < self.rmse_constant


#: Of a fit that was not made.
NOTHING_HELD = Held(float("nan"), float("nan"))


def folds_of(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """A fold for each row, rows of one group together; shape (rows,)."""
    names, at = np.unique(groups, return_inverse=True)
    order = rng.permutation(len(names))
    return (order % FOLDS)[at].astype(np.int64)


def validate(regressors: FloatArray, target: FloatArray, fold: IntArray, how: How) -> Held:
    """Errors of one service's line, each fold being foretold from the others."""
    return _foretold(lambda _: (regressors, target), fold, how, intercept=True)


def validate_pooled(table: Table, fold: IntArray, how: How) -> Held:
    """As ``validate``, for the line that all services share apart from their means."""
    return _foretold(lambda train: deviations(table, train), fold, how, intercept=False)


def _foretold(
    known: Callable[[BoolArray], tuple[FloatArray, FloatArray]],
    fold: IntArray,
    how: How,
    *,
    intercept: bool,
) -> Held:
    """The errors of every fold together; ``known`` are regressors and target by training rows."""
    missed, missed_constant, many = 0.0, 0.0, 0
    for held in range(FOLDS):
        train = fold != held
        columns, target = known(train)
        test = ~train & np.isfinite(target)
        if not test.any() or train.sum() <= columns.shape[1] + intercept:
            continue
        found = solve(columns[train], target[train], how, intercept=intercept)
        constant = target[train].mean() if intercept else 0.0
        missed += float(((target[test] - (found[0] + columns[test] @ found[1:])) ** 2).sum())
        missed_constant += float(((target[test] - constant) ** 2).sum())
        many += int(test.sum())
    if not many:
        return NOTHING_HELD
    return Held(float(np.sqrt(missed / many)), float(np.sqrt(missed_constant / many)))


def deviations(table: Table, train: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Regressors and target less their service's means over the training rows."""
    columns = table.regressors - service_means(table, table.regressors, train)[table.service]
    return columns, table.target - service_means(table, table.target, train)[table.service]


# A plain word for how far a fit can be trusted, with the reason.

Verdict = Literal["usable", "weak", "not identifiable"]
USABLE: Verdict = "usable"

#: Rows of a service that a line of its own needs (specification 9.5).
LEAST_ROWS = 8
#: Instances that it needs where rows of one instance err together: errors come of leaving instances
#: out in turn, and of two there is one degree of freedom.
LEAST_INSTANCES = 3
#: Why instances count there, and not rows.
DEPENDENT = "as rows of one instance are not independent"
#: Beyond this, digits of the coefficients are decided by the last digits of the data.
MOST_CONDITION = 1000.0
#: Where collinearity begins to hurt (Belsley, Kuh & Welsch 1980).
HIGH_CONDITION = 30.0
SIGNIFICANT = 0.05


def lacking(rows: int, *, needed: int = LEAST_ROWS, instances: int | None = None) -> str:
    """What is too few for a fit, in a clause; empty where there is enough.

    Parameters
    ----------
    rows, needed : int
        Rows that there are, and how many must be there.
    instances : int, optional
        Instances that the rows are of, where rows of one err together.
    """
    if rows < needed:
        return f"{counted(rows, 'row')}, {needed:,} are needed"
    if instances is not None and instances < LEAST_INSTANCES:
        return f"{counted(instances, 'instance')}, {LEAST_INSTANCES} are needed, {DEPENDENT}"
    return ""


def judge(fitted: Linear | None, held: Held, *, lacks: str, proxy: bool) -> tuple[Verdict, str]:
    """The verdict on a fit and a clause that says why.

    Parameters
    ----------
    fitted : Linear, optional
        None where nothing was fitted.
    lacks : str
        Why nothing was fitted, as ``lacking`` says it.
    proxy : bool
        Whether neighbours are known by their node only: then no fit is better than weak.
    """
    if fitted is None:
        return "not identifiable", lacks
    if fitted.condition > MOST_CONDITION:
        told = f"condition {fitted.condition:.3g}" if np.isfinite(fitted.condition) else "dependent"
        return "not identifiable", f"neighbours do not vary apart from each other ({told})"
    if not fitted.p_value < SIGNIFICANT:
        high = f", condition {fitted.condition:.0f}" if fitted.condition > HIGH_CONDITION else ""
        return "weak", f"no effect beyond chance (p = {fitted.p_value:.2g}{high})"
    if not held.better:
        return "weak", "no better than the service's mean on rows held out"
    if proxy:
        return "weak", "explains, but neighbours are known by their node only"
    saved = 1 - held.rmse / held.rmse_constant
    return USABLE, f"errors on rows held out {100 * saved:.0f} % below the service's mean"
