"""TOPSIS: how close each row of a decision matrix comes to the best value of every column.

Source: Hwang and Yoon 1981. ``sum_of_squares`` is the normalisation of the Liang extender, whose
unit tests only its values reproduce.
"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.placement._parts.formula import either
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import CPU, DISK, DISK_IO, MEMORY, NET

Norm = Literal["l2", "sum_of_squares"]
Ideal = Literal["observed", "absolute"]

#: Closeness of rows that cannot be told apart.
INDIFFERENT = 0.5


def closeness(
    matrix: FloatArray,
    *,
    weights: ArrayLike = 1.0,
    benefit: ArrayLike = True,
    norm: Norm = "l2",
    ideal: Ideal = "observed",
) -> FloatArray:
    """``d- / (d+ + d-)`` of each row, 0..1; higher is better.

    Parameters
    ----------
    matrix : float64, shape (rows, columns)
    weights : float or array, shape (columns,)
    benefit : bool or array, shape (columns,)
        Whether a high value is good.
    norm : {'l2', 'sum_of_squares'}
        Columns are divided by their length, or by its square.
    ideal : {'observed', 'absolute'}
        Best and worst of each column are those found in it, or 1 and 0 of values taken as fractions
        and left as they are: then leaving out a row changes no other row's place.

    Returns
    -------
    float64, shape (rows,)
        0.5 where a row is as far from the best as from the worst because both are the same.
    """
    # a column lies together, as sums and extremes run along it
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
    """The closeness of both distances, for arrays and, compiled, for numbers."""
    both = to_best + to_worst
    return either(both > 0, to_worst / either(both > 0, both, 1.0), INDIFFERENT)


def _ends(scaled: FloatArray, weighed: FloatArray, ideal: Ideal) -> tuple[FloatArray, FloatArray]:
    if ideal == "absolute":
        ones = np.asarray(weighed, dtype=np.float64)
        return ones, np.zeros_like(ones)
    return scaled.max(axis=1, keepdims=True), scaled.min(axis=1, keepdims=True)


def _normalized(columns: FloatArray, norm: Norm) -> FloatArray:
    """Columns over their length; one of zeros alone stays, and tells no row from another."""
    squares = np.square(columns).sum(axis=1, keepdims=True)
    length = squares if norm == "sum_of_squares" else np.sqrt(squares)
    return np.asarray(columns / np.where(length > 0, length, 1.0))


# Criteria of combined-weight TOPSIS, and judgement matrices by the type of a container. Type of a
# container: Geng and Wang 2023, eq 16. The judgements are a reading of this project, for those of
# Zhang and Wang 2022 are not published.

Dominance = Annotated[
    float, About("How many times more what a container leans on counts.", minimum=1)
]
PodType = Literal["compressible", "incompressible", "balanced"]
Judgements = tuple[tuple[str, str, float], ...]

#: Criteria in their order, by the names that judgements use.
CRITERIA = {"cpu": CPU, "memory": MEMORY, "net": NET, "disk": DISK, "io": DISK_IO}

#: What can be throttled: a container short of it runs slower, and does not fail.
_THROTTLED = (CPU, NET, DISK_IO)


def present(snapshot: Snapshot) -> dict[str, int]:
    """Criteria that the workload has, by resource name, with their columns."""
    columns = ((name, snapshot.column(name)) for name in CRITERIA.values())
    return {name: column for name, column in columns if column is not None}


def pod_type(snapshot: Snapshot, container: Container) -> PodType:
    """Which resources the container needs most, relative to the mean node.

    Compressible when cpu outweighs memory and network outweighs disk, incompressible when both are
    the other way round, else balanced. Without network or disk, cpu and memory decide.
    """
    mean = snapshot.capacity.mean(axis=0)
    signs = []
    for first, second in ((CPU, MEMORY), (NET, DISK)):
        one, other = snapshot.column(first), snapshot.column(second)
        if one is not None and other is not None:
            ahead = container.request[one] * mean[other] - container.request[other] * mean[one]
            signs.append(np.sign(ahead))
    if all(sign > 0 for sign in signs):
        return "compressible"
    return "incompressible" if all(sign < 0 for sign in signs) else "balanced"


def by_type(kind: PodType, resources: list[str], dominance: float) -> FloatArray:
    """Judgements that put what the type leans on ``dominance`` times before the rest."""
    ahead = {"compressible": dominance, "incompressible": 1.0 / dominance, "balanced": 1.0}[kind]
    importance = np.array([ahead if name in _THROTTLED else 1.0 for name in resources])
    return np.asarray(importance[:, None] / importance[None, :])


def given(judgements: Judgements, resources: list[str]) -> FloatArray:
    """A judgement matrix from ``(first, second, ratio)``; what is not judged is equal."""
    matrix = np.ones((len(resources), len(resources)))
    for first, second, ratio in judgements:
        if CRITERIA[first] in resources and CRITERIA[second] in resources:
            one, other = resources.index(CRITERIA[first]), resources.index(CRITERIA[second])
            matrix[one, other], matrix[other, one] = ratio, 1.0 / ratio
    return matrix
