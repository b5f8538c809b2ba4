"""Standard errors of a line, and the test of its slopes."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from tracekit.arrays import FloatArray, IntArray
from tracekit.fit.how import How


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
    """What ridge adds to the normal equations; constant columns have no variance, so nothing."""
    return np.diag(how.ridge * columns.var(axis=0))


def wald_p_value(slopes: FloatArray, covariance: FloatArray, freedom: int) -> float:
    """Wald's test of all slopes at once, by the F distribution."""
    if freedom <= 0 or not np.isfinite(covariance).all() or not len(slopes):
        return float("nan")
    statistic = float(slopes @ np.linalg.pinv(covariance, hermitian=True) @ slopes) / len(slopes)
    return float(fdtrc(len(slopes), freedom, max(statistic, 0.0)))
