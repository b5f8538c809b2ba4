"""Linear regression with errors, intervals, condition number and cross-validation, and a verdict.

Least squares (patent CN116795487A [0069]), optionally without negative coefficients. The intercept
has no bound.
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
    """Return the standard errors of the coefficients, and their covariance matrix.

    ``columns`` is the design matrix, and ``used`` is the number of fitted parameters. With
    ``groups`` rows of one group are dependent: see ``fit_linear``.
    """
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
    """The covariance for dependent rows of a group, by a jackknife over groups.

    The residuals of each group are those of a fit without the group (CR3 of Bell & McCaffrey 2002).
    The small matrices of all groups are solved at once.
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
    """Return the p-value of Wald's test that all slopes are 0, by the F distribution."""
    if freedom <= 0 or not np.isfinite(covariance).all() or not len(slopes):
        return float("nan")
    statistic = float(slopes @ np.linalg.pinv(covariance, hermitian=True) @ slopes) / len(slopes)
    return float(fdtrc(len(slopes), freedom, max(statistic, 0.0)))


#: Columns whose scaled singular values are below this share of the largest are dependent.
RANK = 1e-8


@dataclass(frozen=True, kw_only=True)
class Linear:
    """The result of a linear regression.

    Parameters
    ----------
    coefficients, errors, low, high : float64, shape (1 + regressors,)
        Coefficients with the intercept first, standard errors, and confidence limits. The last
        three are NaN without degrees of freedom.
    r2 : float
        Explained share of the variance; NaN for a constant target.
    rmse : float
        Root of the mean squared residual over all rows.
    condition : float
        Condition number of the design with columns of unit length (Belsley 1980); infinite for
        dependent columns.
    p_value : float
        p-value of Wald's test that the slopes, or the ``tested`` ones of ``fit_linear``, are all 0.
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
    """Return the design matrix: a column of ones, then the regressors."""
    return np.column_stack([np.ones(len(regressors)), regressors])


def condition(columns: FloatArray) -> float:
    """Return the condition number after scaling columns to length 1; infinite if dependent."""
    length = np.sqrt((columns**2).sum(axis=0))
    if len(columns) < columns.shape[1] or (length == 0).any():
        return float("inf")
    values = np.linalg.svd(columns / length, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > RANK * values[0] else float("inf")


def solve(
    regressors: FloatArray, target: FloatArray, how: How | None = None, *, intercept: bool = True
) -> FloatArray:
    """Return intercept and coefficients, shape (1 + regressors,). A left-out intercept is 0."""
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
    """Fit a linear regression, with its errors, confidence limits and condition number.

    Parameters
    ----------
    regressors : float64, shape (rows, regressors)
    target : float64, shape (rows,)
    groups : int64, shape (rows,), optional
        Rows of one group are dependent, such as an instance over time. Errors are then those of a
        jackknife over groups, with one degree of freedom less than the number of groups.
    absorbed : int, optional
        The number of means that were subtracted from the data: no intercept is fitted, and each
        mean takes a degree of freedom.
    tested : int, optional
        ``p_value`` tests only so many of the first regressors; all if None.
    """
    how = how or How()
    intercept = absorbed is None
    coefficients = _solved(regressors, target, how, intercept=intercept)
    columns = design(regressors) if intercept else regressors
    fitted = coefficients if intercept else coefficients[1:]
    residual = target - columns @ fitted
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
        p_value=wald_p_value(fitted[slopes], covariance[slopes, slopes], freedom),
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
class HeldOutErrors:
    """Errors (RMSE) of a regression and of the mean on rows held out; NaN if none are held out."""

    rmse: float
    rmse_constant: float

    @property
    def better(self) -> bool:
        """Whether the regression has a lower error on held-out rows than the mean."""
        return self.rmse < self.rmse_constant


#: The errors without a fit.
NOTHING_HELD = HeldOutErrors(float("nan"), float("nan"))


def folds_of(groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a random fold 0..4 of each row, shape (rows,). Rows of a group are in one fold."""
    names, at = np.unique(groups, return_inverse=True)
    order = rng.permutation(len(names))
    return (order % FOLDS)[at].astype(np.int64)


def validate(regressors: FloatArray, target: FloatArray, fold: IntArray, how: How) -> HeldOutErrors:
    """Return cross-validated errors of a regression: each fold is predicted from the others."""
    return _predicted(lambda _: (regressors, target), fold, how, intercept=True)


def validate_pooled(table: Table, fold: IntArray, how: How) -> HeldOutErrors:
    """Return cross-validated errors of one regression for all services, each with its own mean."""
    return _predicted(lambda train: deviations(table, train), fold, how, intercept=False)


def _predicted(
    data: Callable[[BoolArray], tuple[FloatArray, FloatArray]],
    fold: IntArray,
    how: How,
    *,
    intercept: bool,
) -> HeldOutErrors:
    """The errors over all folds; ``data`` gives regressors and target from the training rows."""
    missed, missed_constant, many = 0.0, 0.0, 0
    for held in range(FOLDS):
        train = fold != held
        columns, target = data(train)
        test = ~train & np.isfinite(target)
        if not test.any() or train.sum() <= columns.shape[1] + intercept:
            continue
        line = solve(columns[train], target[train], how, intercept=intercept)
        constant = target[train].mean() if intercept else 0.0
        missed += float(((target[test] - (line[0] + columns[test] @ line[1:])) ** 2).sum())
        missed_constant += float(((target[test] - constant) ** 2).sum())
        many += int(test.sum())
    if not many:
        return NOTHING_HELD
    return HeldOutErrors(float(np.sqrt(missed / many)), float(np.sqrt(missed_constant / many)))


def deviations(table: Table, train: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return regressors and target minus their service's means, taken over training rows."""
    columns = table.regressors - service_means(table, table.regressors, train)[table.service]
    return columns, table.target - service_means(table, table.target, train)[table.service]


# The verdict on a fit, with the reason.

Verdict = Literal["usable", "weak", "not identifiable"]
USABLE: Verdict = "usable"

#: The least rows for a service's own line (specification 9.5).
LEAST_ROWS = 8
#: The least instances for it if rows of an instance are dependent: errors come from leaving out one
#: instance after another, and two instances have one degree of freedom.
LEAST_INSTANCES = 3
#: The reason why instances count in place of rows.
DEPENDENT = "as rows of one instance are not independent"
#: The condition number from which the last digits of the data decide the coefficients.
MOST_CONDITION = 1000.0
#: The condition number from which collinearity matters (Belsley, Kuh & Welsch 1980).
HIGH_CONDITION = 30.0
SIGNIFICANT = 0.05


def lacking(rows: int, *, needed: int = LEAST_ROWS, instances: int | None = None) -> str:
    """Return a clause on the rows or instances that a fit lacks; an empty text if it has enough.

    Parameters
    ----------
    rows, needed : int
        The number of rows, and the least number.
    instances : int, optional
        The number of instances, if rows of an instance are dependent.
    """
    if rows < needed:
        return f"{counted(rows, 'row')}, {needed:,} are needed"
    if instances is not None and instances < LEAST_INSTANCES:
        return f"{counted(instances, 'instance')}, {LEAST_INSTANCES} are needed, {DEPENDENT}"
    return ""


def judge(
    fitted: Linear | None, held: HeldOutErrors, *, lacks: str, proxy: bool
) -> tuple[Verdict, str]:
    """Return the verdict on a fit, and a clause with the reason.

    Parameters
    ----------
    fitted : Linear, optional
        None if there is no fit.
    lacks : str
        The reason why there is no fit, from ``lacking``.
    proxy : bool
        Whether neighbours are known by node alone; the verdict is then at most weak.
    """
    if fitted is None:
        return "not identifiable", lacks
    if fitted.condition > MOST_CONDITION:
        why = f"condition {fitted.condition:.3g}" if np.isfinite(fitted.condition) else "dependent"
        return "not identifiable", f"neighbours do not vary apart from each other ({why})"
    if not fitted.p_value < SIGNIFICANT:
        high = f", condition {fitted.condition:.0f}" if fitted.condition > HIGH_CONDITION else ""
        return "weak", f"no effect beyond chance (p = {fitted.p_value:.2g}{high})"
    if not held.better:
        return "weak", "no better than the service's mean on rows held out"
    if proxy:
        return "weak", "explains, but neighbours are known by their node only"
    saved = 1 - held.rmse / held.rmse_constant
    return USABLE, f"errors on rows held out {100 * saved:.0f} % below the service's mean"
