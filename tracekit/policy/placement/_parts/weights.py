"""Weights of criteria: from judgements (AHP), from the data (entropy), and from both; TOPSIS.

Sources: Saaty 1980 (row geometric means, consistency ratio); Shannon entropy weights; for the kind
of a container Geng and Wang, C.S.A. 2023 32(4) 187-196, eq 16. The judgements by kind are this
project's own, as those of Zhang and Wang 2022 are not published.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import CPU, DISK, DISK_IO, MEMORY, NET, column_of
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.view.snapshot import Snapshot

#: The consistency index of random judgements on 1, 2, ... criteria (Saaty).
RANDOM_INDEX = (0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45)

#: The consistency ratio from which judgements contradict each other too much.
CONSISTENCY_LIMIT = 0.1

#: Entropy gains below this are rounding errors.
NOISE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The result of ``ahp``: weights of sum 1, and how consistent the judgements are."""

    weights: FloatArray
    lambda_max: float
    consistency_index: float
    consistency_ratio: float


def ahp(judgements: FloatArray) -> Judged:
    """Compute weights of criteria from pairwise judgements.

    Parameters
    ----------
    judgements : float64, shape (criteria, criteria), up to 9 criteria
        ``[i, j]`` is how many times more criterion i matters than j.
    """
    count = len(judgements)
    means = np.exp(np.log(judgements).mean(axis=1))
    weights = means / means.sum()
    lambda_max = float(((judgements @ weights) / weights).mean())
    index = (lambda_max - count) / (count - 1) if count > 1 else 0.0
    random = RANDOM_INDEX[count - 1]
    return Judged(
        weights=weights,
        lambda_max=lambda_max,
        consistency_index=index,
        consistency_ratio=index / random if random else 0.0,
    )


def entropy_weights(matrix: FloatArray) -> FloatArray:
    """Return the weights of columns by entropy, of sum 1: the more a column varies, the higher.

    The result has shape (columns,). A column of zeros counts as one that does not vary; if no
    column varies, all weights are equal.

    Parameters
    ----------
    matrix : float64, shape (rows, columns), not negative
    """
    total = matrix.sum(axis=0)
    share = np.divide(matrix, total, out=np.zeros(matrix.shape), where=total > 0)
    information = np.zeros_like(share)
    np.log(share, out=information, where=share > 0)
    gains = gain_of((share * information).sum(axis=0), len(matrix))
    return of_gains(np.where(total > 0, gains, 0.0))


# The formulas, for arrays and compiled: see ``tracekit.policy.placement._parts.formula``.


def gain_of(s_ln_s: Any, rows: Any) -> Any:
    """Return one minus the normalised entropy of a column with ``rows`` values.

    ``s_ln_s`` is the sum of ``s ln s``, where s is a value over the column's sum. The result is 0
    for a single row, and where only rounding keeps it from 0.
    """
    gain = 1.0 + s_ln_s / np.log(np.maximum(rows, 2))
    return either((rows > 1) & (gain >= NOISE), gain, 0.0)


def of_sum_one(weights: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return the weights divided by their sum; ``otherwise`` for a sum of 0."""
    total = weights.sum()
    return weights / total if total > 0 else otherwise


def of_gains(gains: FloatArray) -> FloatArray:
    """Return the columns' entropy gains divided by their sum; equal weights if all are 0."""
    return of_sum_one(gains, np.full(len(gains), 1.0 / len(gains)))


def combine(subjective: FloatArray, objective: FloatArray, linear: bool) -> FloatArray:
    """Return the products of two weights of each criterion, divided by their sum.

    With ``linear`` it is the mean of both weights. If every product is 0, it is ``subjective``.
    """
    if linear:
        return (subjective + objective) / 2
    return of_sum_one(subjective * objective, subjective)


# Judgements by the kind of a container.

#: The four resources by their names in parameters, in the order of the paper.
FOUR = {"cpu": CPU, "memory": MEMORY, "net": NET, "disk": DISK}

#: Resources that can be throttled: a container with too little of them runs slower.
THROTTLED = (CPU, NET, DISK_IO)

#: The kinds of a container.
BALANCED, COMPRESSIBLE, INCOMPRESSIBLE = 0, 1, 2

Dominance = Annotated[
    float, About("Weight of the resources of a container's kind over that of others.", minimum=1)
]
DOMINANCE = 3.0


def kind_of(
    request: IntArray | FloatArray, total: FloatArray, resources: Sequence[str]
) -> IntArray:
    """Return the kind of a container, by the fraction of a node's resources that it requests.

    The fraction of cpu is compared with that of memory, and that of network with that of disk. If
    both are above, the container is ``COMPRESSIBLE``; if both are below, ``INCOMPRESSIBLE``; else
    ``BALANCED``. Without network or disk, cpu and memory decide.

    Parameters
    ----------
    request : shape (resources,)
    total : float64, shape (..., resources)
        Capacities of a node or of nodes.

    Returns
    -------
    int64, shape (...)
    """
    total, signs = total.T, []
    for first, second in ((CPU, MEMORY), (NET, DISK)):
        one, other = column_of(resources, first), column_of(resources, second)
        if one is not None and other is not None:
            signs.append(np.sign(request[one] * total[other] - request[other] * total[one]))
    ahead, behind = np.min(signs, axis=0) > 0, np.max(signs, axis=0) < 0
    return np.where(ahead, COMPRESSIBLE, np.where(behind, INCOMPRESSIBLE, BALANCED))


Judgements = tuple[tuple[str, str, float], ...]

#: Criteria of combined-weight TOPSIS in their order, by their names in judgements.
CRITERIA = {**FOUR, "io": DISK_IO}


def present(snapshot: Snapshot) -> dict[str, int]:
    """Return the snapshot columns of the ``CRITERIA`` that the workload has, by resource name."""
    columns = ((name, snapshot.column(name)) for name in CRITERIA.values())
    return {name: column for name, column in columns if column is not None}


def by_kind(kind: int, resources: list[str], dominance: float) -> FloatArray:
    """Return the judgement matrix of a kind: its resources matter ``dominance`` times more."""
    ahead = {COMPRESSIBLE: dominance, INCOMPRESSIBLE: 1.0 / dominance, BALANCED: 1.0}[kind]
    importance = np.array([ahead if name in THROTTLED else 1.0 for name in resources])
    return np.asarray(importance[:, None] / importance[None, :])


def given(judgements: Judgements, resources: list[str]) -> FloatArray:
    """Return the judgement matrix of triples (first, second, ratio); other pairs are equal."""
    matrix = np.ones((len(resources), len(resources)))
    for first, second, ratio in judgements:
        if CRITERIA[first] in resources and CRITERIA[second] in resources:
            one, other = resources.index(CRITERIA[first]), resources.index(CRITERIA[second])
            matrix[one, other], matrix[other, one] = ratio, 1.0 / ratio
    return matrix


# TOPSIS: the closeness of each row of a decision matrix to the best value of every column.
#
# Source: Hwang and Yoon 1981. ``sum_of_squares`` is the normalisation of the Liang extender, by
# which its unit tests are reproduced.

Norm = Literal["l2", "sum_of_squares"]
Ideal = Literal["observed", "absolute"]

#: The closeness of rows that are all alike.
INDIFFERENT = 0.5


def closeness(
    matrix: FloatArray,
    *,
    weights: ArrayLike = 1.0,
    benefit: ArrayLike = True,
    norm: Norm = "l2",
    ideal: Ideal = "observed",
) -> FloatArray:
    """Return the TOPSIS closeness ``d- / (d+ + d-)`` of each row, 0..1; higher is better.

    d+ and d- are the distances of a row from the best and the worst value of every column.

    Parameters
    ----------
    matrix : float64, shape (rows, columns)
    weights : float or array, shape (columns,)
    benefit : bool or array, shape (columns,)
        Whether a high value is good.
    norm : {'l2', 'sum_of_squares'}
        Columns are divided by their length, or by the square of it.
    ideal : {'observed', 'absolute'}
        Best and worst of each column are its extremes, or 1 and 0 for values that are fractions and
        are not normalised: then a row's closeness does not depend on other rows.

    Returns
    -------
    float64, shape (rows,)
        0.5 if best and worst are the same.
    """
    # contiguous columns, as sums and extremes run along them
    columns = np.ascontiguousarray(matrix.T)
    weighed = np.broadcast_to(weights, len(columns))[:, None]
    scaled = weighed * (columns if ideal == "absolute" else _normalized(columns, norm))
    high, low = _ends(scaled, weighed, ideal)
    good = np.broadcast_to(benefit, len(columns))[:, None]
    best, worst = np.where(good, high, low), np.where(good, low, high)
    to_best = np.sqrt(np.square(scaled - best).sum(axis=0))
    to_worst = np.sqrt(np.square(scaled - worst).sum(axis=0))
    return np.asarray(nearness(to_best, to_worst))


def nearness(to_best: Any, to_worst: Any) -> Any:
    """Return the closeness by the distances to best and worst; ``INDIFFERENT`` if both are 0."""
    both = to_best + to_worst
    return either(both > 0, to_worst / either(both > 0, both, 1.0), INDIFFERENT)


def _ends(scaled: FloatArray, weighed: FloatArray, ideal: Ideal) -> tuple[FloatArray, FloatArray]:
    if ideal == "absolute":
        ones = np.asarray(weighed, dtype=np.float64)
        return ones, np.zeros_like(ones)
    return scaled.max(axis=1, keepdims=True), scaled.min(axis=1, keepdims=True)


def _normalized(columns: FloatArray, norm: Norm) -> FloatArray:
    """Columns divided by their length; a column of zeros stays."""
    squares = np.square(columns).sum(axis=1, keepdims=True)
    length = squares if norm == "sum_of_squares" else np.sqrt(squares)
    return np.asarray(columns / np.where(length > 0, length, 1.0))
