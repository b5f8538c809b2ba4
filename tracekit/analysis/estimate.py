"""How much of its node a container of each service takes, inferred from usage alone.

The trace publishes no requests and no capacities. But the use of a node is the use of its
containers, each times the size of the container relative to the node, plus everything else that
runs there::

    node use (t) = background (t) + sum over containers of size(service) * container use (t)

Changes from one sample to the next remove what is constant or changes slowly, above all the
background and the course of the day. Sizes times changes of containers remain, plus noise. Sizes
are estimated by non-negative least squares.

Where the sizes of nodes are recorded and differ, changes of a node are counted in nodes of the
commonest size; elsewhere all nodes count as equal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.changes import RESOURCES, NodeSums, Sums, changes, sums_of
from tracekit.analysis.metrics import NORMAL_95
from tracekit.analysis.metrics.correlation import bootstrap_interval, resampling_matrix
from tracekit.base.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from tracekit.store.query.run import AnyDatabase

REPLICATES = 500
#: A size is determined if half of its 95 % interval is at most this part of the common size.
DETERMINED_PART = 0.5
#: Directions in which the services' changes vary less than this cannot be distinguished.
_SMALLEST = 1e-10
#: With fewer services all eigenvalues are computed.
_FEW = 64
#: After so many exchanges without progress, values move one at a time.
_TRIES = 4


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The estimated sizes of containers for one resource, as shares of a node.

    A size is the share of its node that a container takes at full use.

    Parameters
    ----------
    common, common_low, common_high : float
        One size for all services, and its 95 % interval.
    size, low, high : float64, shape (services,)
        Each service's own size and its 95 % interval; NaN if its containers' use never changes.
    determined : bool, shape (services,)
        Whether ``size`` is known well enough: ``common_determined`` is true, and half the width of
        the interval of ``size`` is at most ``DETERMINED_PART * common``.
    condition_number : float
        The condition number of the services' changes, scaled to unit length; large if services
        cannot be distinguished.
    variance_explained_share : float
        Share of the variance of the nodes' changes that the sizes explain.
    """

    common: float
    common_low: float
    common_high: float
    common_determined: bool
    size: FloatArray
    low: FloatArray
    high: FloatArray
    determined: BoolArray
    condition_number: float
    variance_explained_share: float


def estimate(sums: Sums, rng: np.random.Generator) -> Estimate:
    """Fit one size for all services, then one size for each service, with 95 % intervals.

    Each node is weighted by the inverse of the variance that a first fit leaves unexplained on it.
    Intervals come from a bootstrap over nodes. For each service's size the bootstrap is a linear
    approximation around the fit, so that no draw needs a fit of its own. Such an interval is at
    least as wide as the one that follows from the unexplained variance of the nodes.
    """
    drawn = resampling_matrix(rng, len(sums.nodes), REPLICATES)
    weighed = _weighed(sums)
    common, low, high = _common(weighed, drawn)
    common_determined = bool(low > 0 and (high - low) / 2 <= DETERMINED_PART * common)
    gram, cross = weighed.normal_equations()
    length, unit = _unit(gram)
    inverse, condition = _inverse(unit)
    free = inverse @ (cross / length)
    size = np.where(np.diag(gram) > 0, _non_negative(free, inverse) / length, np.nan)
    inverse /= np.outer(length, length)
    service_low, service_high = _intervals(weighed, gram, free / length, inverse, drawn)
    # limits are not yet cut off at 0, which would narrow the interval of an unlucky estimate
    narrow = (service_high - service_low) / 2 <= DETERMINED_PART * common
    return Estimate(
        common=common,
        common_low=low,
        common_high=high,
        common_determined=common_determined,
        size=size,
        low=np.maximum(service_low, 0),
        high=np.maximum(service_high, 0),
        determined=np.asarray(common_determined & narrow & ~np.isnan(size)),
        condition_number=condition,
        variance_explained_share=_explained(sums, size),
    )


def _weighed(sums: Sums) -> Sums:
    """The sums of each node over the variance that a first, unweighted fit leaves on the node."""
    from scipy.linalg import cho_solve  # noqa: PLC0415 - slow to import

    gram, cross = sums.normal_equations()
    length, unit = _unit(gram)
    first = cho_solve((_factor(unit), True), cross / length) / length
    left = np.array([_noise(node, first) for node in sums.nodes])
    # a node with few samples is fitted too well, and must not dominate
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
    filled = np.nan_to_num(size)
    error = square - 2 * filled @ cross + filled @ gram @ filled
    return float(1 - error / square) if square > 0 else float("nan")


def _common(sums: Sums, drawn: FloatArray) -> tuple[float, float, float]:
    above = np.array([[node.cross.sum()] for node in sums.nodes])
    below = np.array([[node.gram.sum()] for node in sums.nodes])
    if not below.sum() > 0:
        return float("nan"), float("nan"), float("nan")
    low, high, _ = bootstrap_interval(above, below, drawn)[:, 0]
    return float(above.sum() / below.sum()), float(low), float(high)


def _unit(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths of the columns, 1 for a column of zeros, and the gram of columns of unit length."""
    square = np.diag(gram)
    length = np.sqrt(np.where(square > 0, square, 1.0))
    unit = gram / np.outer(length, length)
    np.fill_diagonal(unit, 1.0)
    return length, unit


def _least(unit: FloatArray) -> float:
    """The number that is added to all eigenvalues, so that the matrix has an inverse."""
    return _SMALLEST * float(np.abs(unit).sum(axis=0).max())


def _factor(unit: FloatArray) -> FloatArray:
    """The lower Cholesky factor; the values above its diagonal are arbitrary."""
    from scipy.linalg import cho_factor  # noqa: PLC0415 - slow to import

    factor: FloatArray = cho_factor(unit + _least(unit) * np.eye(len(unit)), lower=True)[0]
    return factor


def _inverse(unit: FloatArray) -> tuple[FloatArray, float]:
    """The inverse of the gram matrix, and the condition number of the columns."""
    from scipy.linalg.lapack import dpotri  # noqa: PLC0415 - slow to import

    lower = np.tril(dpotri(_factor(unit), lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    smallest = max(1 / _largest(inverse) - _least(unit), float(np.finfo(float).tiny))
    with np.errstate(over="ignore"):  # beyond all numbers it is infinite
        return inverse, float(np.sqrt(_largest(unit) / smallest))


def _largest(matrix: FloatArray) -> float:
    """The largest eigenvalue."""
    from scipy.sparse.linalg import eigsh  # noqa: PLC0415 - slow to import

    count = len(matrix)
    if count < _FEW:
        return float(np.linalg.eigvalsh(matrix)[-1])
    start = np.linspace(1, 2, count)
    return float(eigsh(matrix, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def _non_negative(free: FloatArray, inverse: FloatArray) -> FloatArray:
    """The least-squares solution without negative values, from the unconstrained solution.

    Values with a wrong sign move between the set that is held at 0 and the free set, until no sign
    is wrong. If the number of wrong signs does not fall, one value moves at a time (block principal
    pivoting).
    """
    held, fewest, tries = np.zeros(len(free), dtype=np.bool_), len(free) + 1, _TRIES
    slack = _SMALLEST * float(np.abs(free).max(initial=0.0))
    while True:
        pull = np.linalg.solve(inverse[np.ix_(held, held)], free[held])
        values: FloatArray = free - inverse[:, held] @ pull
        values[held] = -pull
        wrong = np.flatnonzero(values < -slack)
        values[held] = 0.0
        if not len(wrong):
            return np.maximum(values, 0.0)
        tries = _TRIES if len(wrong) < fewest else tries - 1
        fewest = min(fewest, len(wrong))
        held[wrong if tries > 0 else wrong[-1:]] ^= True


def _intervals(
    sums: Sums, gram: FloatArray, free: FloatArray, inverse: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """95 % limits of each size, which may be below 0; NaN if the containers' use never changes."""
    scores, noise = np.zeros((len(sums.nodes), len(free))), np.zeros_like(gram)
    for at, node in enumerate(sums.nodes):
        left = node.cross - node.gram @ free[node.services]
        np.add.at(scores[at], node.services, left)
        pairs = (node.services[:, None], node.services[None, :])
        np.add.at(noise, pairs, _noise(node, free) * node.gram)
    moved = (drawn - 1) @ scores @ inverse
    low, high = np.quantile(free + moved, [0.025, 0.975], axis=0)
    reach = NORMAL_95 * np.sqrt(np.maximum(((inverse @ noise) * inverse).sum(axis=1), 0))
    dead = np.diag(gram) <= 0
    return (
        np.where(dead, np.nan, np.minimum(low, free - reach)),
        np.where(dead, np.nan, np.maximum(high, free + reach)),
    )


def _noise(node: NodeSums, size: FloatArray) -> float:
    """The variance of a change of the node that its containers leave unexplained."""
    own = size[node.services]
    rest = node.square - 2 * own @ node.cross + own @ node.gram @ own
    return max(float(rest), 0.0) / max(node.steps, 1)


# The estimate of container sizes by resource, from a store.


def inferred_sizes(
    database: AnyDatabase, rng: Callable[[str], np.random.Generator]
) -> dict[str, tuple[Sums, Estimate]]:
    """Return, by resource, the sums of changes and the sizes estimated from them.

    The result is empty if no node has both its own samples and samples of containers.

    Parameters
    ----------
    rng : callable
        Returns the random generator for a label; it draws the nodes for the intervals.
    """
    by_resource = sums_of(changes(database), RESOURCES)
    return {
        name: (sums, estimate(sums, rng(f"sizes {name}")))
        for name, sums in by_resource.items()
        if sums.nodes
    }
