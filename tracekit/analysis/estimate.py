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
#: A size is told when its 95 % interval reaches at most this part of the common size to each side.
TOLD_PART = 0.5
#: Directions in which the services' changes vary less than this cannot be told apart.
_SMALLEST = 1e-10
#: Of fewer services all eigenvalues are computed.
_FEW = 64
#: So many exchanges that come no nearer end those of several at a time.
_TRIES = 4


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
    length, unit = _unit(gram)
    inverse, condition = _inverse(unit)
    free = inverse @ (cross / length)
    size = np.where(np.diag(gram) > 0, _non_negative(free, inverse) / length, np.nan)
    inverse /= np.outer(length, length)
    service_low, service_high = _intervals(weighed, gram, free / length, inverse, drawn)
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
    from scipy.linalg import cho_solve  # noqa: PLC0415 - slow to import

    gram, cross = sums.normal_equations()
    length, unit = _unit(gram)
    first = cho_solve((_factor(unit), True), cross / length) / length
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


def _unit(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths of the columns, 1 for one of zeros, and the gram of columns of unit length."""
    square = np.diag(gram)
    length = np.sqrt(np.where(square > 0, square, 1.0))
    unit = gram / np.outer(length, length)
    np.fill_diagonal(unit, 1.0)
    return length, unit


def _least(unit: FloatArray) -> float:
    """What is added to all eigenvalues, so that what cannot be told apart has an inverse."""
    return _SMALLEST * float(np.abs(unit).sum(axis=0).max())


def _factor(unit: FloatArray) -> FloatArray:
    """The lower factor of Cholesky, of what is above its diagonal the upper part is any."""
    from scipy.linalg import cho_factor  # noqa: PLC0415 - slow to import

    factor: FloatArray = cho_factor(unit + _least(unit) * np.eye(len(unit)), lower=True)[0]
    return factor


def _inverse(unit: FloatArray) -> tuple[FloatArray, float]:
    """The inverse, and the condition number of the columns: the root of that of their gram."""
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
    """The least squares with no value below 0, by those without that condition.

    Who is held at 0 and who is not is exchanged wherever the sign is wrong, until it is right
    everywhere; one by one where that does not come nearer (block principal pivoting).
    """
    held, fewest, tries = np.zeros(len(free), dtype=np.bool_), len(free) + 1, _TRIES
    slack = _SMALLEST * float(np.abs(free).max(initial=0.0))
    while True:
        pull = np.linalg.solve(inverse[np.ix_(held, held)], free[held])
        found: FloatArray = free - inverse[:, held] @ pull
        found[held] = -pull
        wrong = np.flatnonzero(found < -slack)
        found[held] = 0.0
        if not len(wrong):
            return np.maximum(found, 0.0)
        tries = _TRIES if len(wrong) < fewest else tries - 1
        fewest = min(fewest, len(wrong))
        held[wrong if tries > 0 else wrong[-1:]] ^= True


def _intervals(
    sums: Sums, gram: FloatArray, free: FloatArray, inverse: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """95 % limits of each size, which may be below 0; NaN where containers' use never changes."""
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
    """Variance of a change of the node that its containers leave unexplained."""
    own = size[node.services]
    rest = node.square - 2 * own @ node.cross + own @ node.gram @ own
    return max(float(rest), 0.0) / max(node.steps, 1)


# The estimate of container sizes by resource, from a store.


def inferred_sizes(
    database: AnyDatabase, rng: Callable[[str], np.random.Generator]
) -> dict[str, tuple[Sums, Estimate]]:
    """Sums and estimate of each resource; empty when no node has both kinds of samples.

    Parameters
    ----------
    rng : callable
        The generator of a label, for intervals.
    """
    found = sums_of(changes(database), RESOURCES)
    return {
        name: (sums, estimate(sums, rng(f"sizes {name}")))
        for name, sums in found.items()
        if sums.nodes
    }
