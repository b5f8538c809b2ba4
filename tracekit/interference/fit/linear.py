"""Linear regression with what is needed to judge it: errors, intervals, condition.

Least squares by default (patent CN116795487A [0069]); ridge, Huber's loss and coefficients that
must not be negative are options. The intercept is never shrunk, weighed down or bounded.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, stdtrit

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.interference.fit.options import How


def standard_errors(  # noqa: PLR0917 - what one fit knows of itself
    columns: FloatArray,
    residual: FloatArray,
    weight: FloatArray,
    how: How,
    used: int,
    groups: IntArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and the covariance."""
    rows = len(residual)
    pull = weight * residual
    # the share of rows on which Huber's loss is still a square; 1 for squares
    square = max(float((weight == 1).mean()), 1 / rows) if how.loss == "huber" else 1.0
    normal = square * columns.T @ columns + _penalty(columns, how)
    bread = np.asarray(np.linalg.pinv(normal), dtype=np.float64)
    if groups is not None:
        covariance = _clustered(columns, pull, square, bread, groups)
    elif rows <= used:
        covariance = np.full((columns.shape[1],) * 2, np.nan)
    else:
        # Huber 1981, section 7.6; for squares it is the textbook's
        correction = 1 + used / rows * (1 - square) / square
        noise = correction**2 * float((pull**2).sum()) / (rows - used)
        covariance = noise * bread @ (columns.T @ columns) @ bread
    return np.sqrt(np.clip(np.diag(covariance), 0, None)), covariance


def _clustered(
    columns: FloatArray, pull: FloatArray, square: float, bread: FloatArray, groups: IntArray
) -> FloatArray:
    """The covariance where rows of one group err together: a jackknife over groups.

    Each group's residuals are those it would have if it had been left out (CR3 of Bell &
    McCaffrey 2002); the groups' own sums are small matrices, solved all at once.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sorted_columns = columns[order]
    scores = np.add.reduceat(sorted_columns * pull[order][:, None], starts, axis=0)
    products = sorted_columns[:, :, None] * sorted_columns[:, None, :]
    own = square * np.add.reduceat(products, starts, axis=0) @ bread
    without = np.linalg.pinv(np.eye(columns.shape[1]) - own)
    alone = (without @ scores[:, :, None])[:, :, 0]
    many = len(starts)
    return np.asarray(bread @ (alone.T @ alone) @ bread * ((many - 1) / many))


def _penalty(columns: FloatArray, how: How) -> FloatArray:
    """The ridge term of the normal equations; 0 for constant columns, which have no variance."""
    return np.diag(how.ridge * columns.var(axis=0))


def wald_p_value(slopes: FloatArray, covariance: FloatArray, freedom: int) -> float:
    """Wald's test of all slopes at once, by the F distribution."""
    if freedom <= 0 or not np.isfinite(covariance).all() or not len(slopes):
        return float("nan")
    statistic = float(slopes @ np.linalg.pinv(covariance, hermitian=True) @ slopes) / len(slopes)
    return float(fdtrc(len(slopes), freedom, max(statistic, 0.0)))


#: Huber's constant: 95 % efficient where errors are normal (Huber 1981).
HUBER = 1.345
#: The median absolute deviation times this estimates a normal standard deviation.
MAD_TO_SD = 1.4826
_ROUNDS = 50
_CLOSE = 1e-10
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
    return _solved(regressors, target, how or How(), intercept=intercept)[0]


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
    coefficients, weight = _solved(regressors, target, how, intercept=intercept)
    columns = design(regressors) if intercept else regressors
    found = coefficients if intercept else coefficients[1:]
    residual = target - columns @ found
    used = columns.shape[1] + (absorbed or 0)
    freedom = len(target) - used if groups is None else len(np.unique(groups)) - 1
    errors, covariance = standard_errors(columns, residual, weight, how, used, groups)
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


def _solved(
    regressors: FloatArray, target: FloatArray, how: How, *, intercept: bool
) -> tuple[FloatArray, FloatArray]:
    """Coefficients, and the weight that each row had in them."""
    weight = np.ones(len(target))
    coefficients = _weighted(regressors, target, weight, how, intercept=intercept)
    for _ in range(_ROUNDS if how.loss == "huber" else 0):
        residual = target - coefficients[0] - regressors @ coefficients[1:]
        scale = MAD_TO_SD * float(np.median(np.abs(residual - np.median(residual))))
        if scale < _CLOSE:
            break
        weight = np.minimum(1.0, HUBER * scale / np.maximum(np.abs(residual), _CLOSE))
        again = _weighted(regressors, target, weight, how, intercept=intercept)
        moved = float(np.abs(again - coefficients).max())
        coefficients = again
        if moved < _CLOSE:
            break
    return coefficients, weight


def _weighted(
    regressors: FloatArray, target: FloatArray, weight: FloatArray, how: How, *, intercept: bool
) -> FloatArray:
    share = weight / weight.sum()
    centre = share @ regressors if intercept else np.zeros(regressors.shape[1])
    middle = float(share @ target) if intercept else 0.0
    root = np.sqrt(weight)
    left, right = (regressors - centre) * root[:, None], (target - middle) * root
    if how.ridge:
        scale = np.sqrt((left**2).mean(axis=0))
        left = np.concatenate([left, np.diag(np.sqrt(how.ridge) * scale)])
        right = np.concatenate([right, np.zeros(left.shape[1])])
    slopes = _nonnegative(left, right) if how.nonneg else np.linalg.lstsq(left, right)[0]
    return np.concatenate([[middle - centre @ slopes if intercept else 0.0], slopes])


def _nonnegative(left: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import

    return np.asarray(nnls(left, right)[0])
