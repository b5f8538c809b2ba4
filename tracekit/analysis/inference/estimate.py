"""Sizes of containers by non-negative least squares, and whether the data can tell them."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from tracekit.analysis.inference.sums import NodeSums, Sums
from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base.arrays import BoolArray, FloatArray

REPLICATES = 500
#: A size is told when its 95 % interval reaches at most this part of the common size to each side.
TOLD_PART = 0.5
#: A normal value lies within so many standard deviations of its mean in 95 % of cases.
NORMAL_95 = 1.959964
#: Directions in which the services' changes vary less than this cannot be told apart.
_SMALLEST = 1e-10


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Sizes for one resource, as the share of its node that a full container takes.

    Parameters
    ----------
    common, common_low, common_high : float
        One size for all services, and its 95 % interval.
    size, low, high : float64, shape (services,)
        Each service's own; NaN where its containers' use never changes.
    told : bool, shape (services,)
        Whether the data tell the service's size; judged by the interval's width against the
        common size and never by the estimate itself, which would pick the lucky ones.
    condition_number : float
        Of the services' changes scaled to unit length; large when they cannot be told apart.
    variance_explained_share : float
        Share of the variance of the nodes' changes that the sizes explain.
    """

    common: float
    common_low: float
    common_high: float
    common_told: bool
    size: FloatArray
    low: FloatArray
    high: FloatArray
    told: BoolArray
    condition_number: float
    variance_explained_share: float


def estimate(sums: Sums, rng: np.random.Generator) -> Estimate:
    """Fit one size for all services, then one for each.

    Quiet nodes weigh more than noisy ones: by the inverse variance that a first fit leaves on each.
    Intervals draw nodes with replacement (one matrix for all), around the least-squares solution
    and linear in the nodes' contributions, which saves a fit per draw; they are never narrower
    than the noise of the nodes alone makes them.
    """
    drawn = resampling_matrix(rng, len(sums.nodes), REPLICATES)
    weighed = _weighed(sums)
    common, low, high = _common(weighed, drawn)
    told = bool(low > 0 and (high - low) / 2 <= TOLD_PART * common)
    gram, cross = weighed.normal_equations()
    parts = _scaled(gram)
    size, condition = _solve(gram, cross, parts)
    service_low, service_high = _intervals(weighed, gram, cross, _inverse(parts), drawn)
    # before the limits are cut off at 0, which narrows the interval of an unlucky estimate
    narrow = (service_high - service_low) / 2 <= TOLD_PART * common
    return Estimate(
        common=common,
        common_low=low,
        common_high=high,
        common_told=told,
        size=size,
        low=np.maximum(service_low, 0),
        high=np.maximum(service_high, 0),
        told=np.asarray(told & narrow & ~np.isnan(size)),
        condition_number=condition,
        variance_explained_share=_explained(sums, size),
    )


def _weighed(sums: Sums) -> Sums:
    """Each node's sums over the variance that a first, unweighed fit leaves on it."""
    gram, cross = sums.normal_equations()
    first = _inverse(_scaled(gram)) @ cross
    left = np.array([_noise(node, first) for node in sums.nodes])
    # a node that is fitted all too well, as one with few samples is, must not rule
    floor = 0.01 * float(np.median(left))
    weights = 1 / np.where(left > floor, left, floor or 1.0)
    nodes = [
        dataclasses.replace(node, gram=w * node.gram, cross=w * node.cross, square=w * node.square)
        for node, w in zip(sums.nodes, weights.tolist(), strict=True)
    ]
    return Sums(services=sums.services, containers=sums.containers, nodes=nodes)


def _explained(sums: Sums, size: FloatArray) -> float:
    gram, cross = sums.normal_equations()
    square = sum(node.square for node in sums.nodes)
    found = np.nan_to_num(size)
    error = square - 2 * found @ cross + found @ gram @ found
    return float(1 - error / square) if square > 0 else float("nan")


def _common(sums: Sums, drawn: FloatArray) -> tuple[float, float, float]:
    above = np.array([[node.cross.sum()] for node in sums.nodes])
    below = np.array([[node.gram.sum()] for node in sums.nodes])
    if not below.sum() > 0:
        return float("nan"), float("nan"), float("nan")
    low, high, _ = bootstrap_interval(above, below, drawn)[:, 0]
    return float(above.sum() / below.sum()), float(low), float(high)


#: Lengths of the columns, eigenvalues and eigenvectors of the gram of unit columns.
_Parts = tuple[FloatArray, FloatArray, FloatArray]


def _scaled(gram: FloatArray) -> _Parts:
    """A gram taken apart: the work grows with the third power of the services."""
    length = np.sqrt(np.diag(gram))
    safe = np.where(length > 0, length, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(safe, safe))
    return length, values, vectors


def _solve(gram: FloatArray, cross: FloatArray, parts: _Parts) -> tuple[FloatArray, float]:
    """Non-negative sizes by the normal equations, NaN for columns of zeros; condition number."""
    live = np.diag(gram) > 0
    size = np.full(len(cross), np.nan)
    if not live.any():
        return size, float("nan")
    length, values, vectors = parts if live.all() else _scaled(gram[np.ix_(live, live)])
    clipped = np.maximum(values, _SMALLEST * values[-1])
    root = np.sqrt(clipped)
    target = vectors.T @ (cross[live] / length) / root
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import

    found: FloatArray = nnls(root[:, None] * vectors.T, target)[0]
    size[live] = found / length
    smallest = max(float(values[0]), float(np.finfo(float).tiny))
    with np.errstate(over="ignore"):  # beyond all numbers it is infinite
        return size, float(np.sqrt(values[-1] / smallest))


def _inverse(parts: _Parts) -> FloatArray:
    length, values, vectors = parts
    usable = values > _SMALLEST * max(values[-1], 0.0)
    inverse = (vectors[:, usable] / values[usable]) @ vectors[:, usable].T
    safe = np.where(length > 0, length, np.inf)
    return np.asarray(inverse / np.outer(safe, safe))


def _intervals(
    sums: Sums, gram: FloatArray, cross: FloatArray, inverse: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """95 % limits of each size, which may be below 0; NaN where containers' use never changes."""
    free = inverse @ cross
    scores, noise = np.zeros((len(sums.nodes), len(cross))), np.zeros_like(gram)
    for at, node in enumerate(sums.nodes):
        left = node.cross - node.gram @ free[node.services]
        np.add.at(scores[at], node.services, left)
        pairs = (node.services[:, None], node.services[None, :])
        np.add.at(noise, pairs, _noise(node, free) * node.gram)
    moved = (drawn - 1) @ scores @ inverse
    low, high = np.quantile(free + moved, [0.025, 0.975], axis=0)
    reach = NORMAL_95 * np.sqrt(np.maximum(np.diag(inverse @ noise @ inverse), 0))
    dead = np.diag(gram) <= 0
    return (
        np.where(dead, np.nan, np.minimum(low, free - reach)),
        np.where(dead, np.nan, np.maximum(high, free + reach)),
    )


def _noise(node: NodeSums, size: FloatArray) -> float:
    """Variance of a change of the node that its containers leave unexplained."""
    own = size[node.services]
    rest = node.square - 2 * own @ node.cross + own @ node.gram @ own
    return max(float(rest), 0.0) / max(node.steps, 1)
