"""Scores by requests in the forms of several kubernetes versions, and the roundings of Go.

Sources: kubernetes noderesources/balanced_allocation.go of v1.35 and, for v1_36, the text of its
pull request 135573; of v1.17 pkg/scheduler/algorithm/priorities/resource_allocation.go and
balanced_resource_allocation.go.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.cluster.resources import BASE, CPU
from tracekit.policy.placement import Formula, PlacementPolicy
from tracekit.policy.placement._parts.formula import either, quotient
from tracekit.policy.view.snapshot import Container, Snapshot

#: The paper's and the scheduler's forms of LRA and BRA, by stated requests.
Variant = Annotated[
    Literal["paper", "legacy_int", "modern_int"],
    About("paper: real numbers 0..10; legacy_int, modern_int: integers 0..10 or 0..100."),
]

MAX_SCORE = {"legacy_int": 10, "modern_int": 100}


def balance(fractions: FloatArray) -> IntArray:
    """Return ``trunc(100 * (1 - deviation(fractions)))`` of each node, 50..100."""
    return np.asarray(of_deviation(deviation(fractions))).astype(np.int64)


def balance_change(fractions: FloatArray, before: FloatArray) -> IntArray:
    """Return ``50 + (50 + S - S0) // 2``: S is ``balance`` with the container, S0 without it."""
    return 50 + (50 + balance(fractions) - balance(before)) // 2


def deviation(fractions: FloatArray) -> FloatArray:
    """Return the population standard deviation over resources, shape (nodes,).

    ``fractions`` has shape (resources, nodes); NaN is left out. For two fractions the result is
    half of their difference. That is equal in exact arithmetic, but upstream computes two so, and
    the last bit decides the truncation.
    """
    if len(fractions) == 2:
        apart = half(fractions[0] - fractions[1])
        if not np.isnan(apart).any():
            return np.asarray(apart)
    counted = ~np.isnan(fractions)
    number = counted.sum(axis=0)
    values = np.where(counted, fractions, 0.0)
    mean = np.divide(values.sum(axis=0), number, out=np.zeros(number.shape), where=number > 0)
    squares = np.where(counted, np.square(values - mean), 0.0).sum(axis=0)
    general = np.sqrt(squares / np.maximum(number, 1))
    high = np.where(counted, fractions, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(counted, fractions, np.inf).min(axis=0, initial=np.inf)
    pair = np.where(number == 2, half(high - low), 0.0)
    return np.where(number == 2, pair, np.where(number > 2, general, 0.0))


def legacy_balance(
    cpu: FloatArray, memory: FloatArray, volumes: FloatArray, max_score: int
) -> IntArray:
    """Return ``trunc((1 - |cpu - memory|) * max_score)``; 0 if a fraction is 1 or more.

    The arguments are requested fractions. Where ``volumes`` is not NaN, the variance of the three
    fractions replaces the distance.
    """
    three = ~np.isnan(volumes)
    third = np.where(three, volumes, 0.0)
    mean = (cpu + memory + third) / 3
    variance = (np.square(cpu - mean) + np.square(memory - mean) + np.square(third - mean)) / 3
    apart = np.where(three, variance, np.abs(cpu - memory))
    full = (cpu >= 1) | (memory >= 1) | (third >= 1)
    return np.trunc(np.where(full, 0.0, (1 - apart) * max_score)).astype(np.int64)


# The formulas, for arrays and, compiled, for numbers: see ``placement/_parts/formula.py``.


def of_deviation(deviation: Any) -> Any:
    """Return ``trunc(100 * (1 - deviation))``, the score by the deviation of fractions."""
    return np.trunc((1.0 - deviation) * 100.0)


def half(apart: Any) -> Any:
    """Return ``|apart| / 2``, the standard deviation of two fractions by their difference."""
    return np.abs(apart) / 2


def pair_balance(apart: Any, weights: Any) -> Any:  # noqa: ARG001
    """Return the score of two fractions, 50..100, by their difference ``apart``."""
    return of_deviation(half(apart))


def requested_share(size: Any, wanted: Any) -> Any:
    """Return ``wanted / size``, at most 1: the fraction requested with the container."""
    return np.minimum(wanted / size, 1.0)


def of_pair(one: str, other: str) -> Formula:
    """Return a formula for ``balance`` of two resources that every node has."""
    return Formula(
        part=requested_share,
        resources=((one, 1), (other, -1)),
        total=pair_balance,
        better="alike",
    )


# Priorities of kubernetes before 1.22, by non-zero requests of cpu and memory.

#: The resource of attached volumes, which few workloads have.
VOLUMES = "volumes"


def requested(snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
    """Return the non-zero requests on each node plus the container's, shape (candidates, 2)."""
    incoming = with_upstream_overhead(container).nonzero_request[: len(BASE)]
    return np.asarray(snapshot.nonzero_requested[nodes, : len(BASE)] + incoming)


def with_upstream_overhead(container: Container) -> Container:
    """Return the container with its CPU overhead counted as upstream did: 1500m counts as 2m."""
    overhead = container.pod.overhead.get(CPU, 0) if container.pod else 0
    if not overhead:
        return container
    incoming = container.nonzero_request.copy()
    incoming[0] += -(-overhead // 1000) - overhead
    return dataclasses.replace(container, nonzero_request=incoming)


def half_sum(total: Any, weights: Any) -> Any:  # noqa: ARG001
    """Return the integer mean of the cpu and memory scores."""
    return quotient(total, 2)


def legacy_fractions(
    snapshot: Snapshot, container: Container, nodes: IntArray, *, volumes: bool
) -> dict[str, FloatArray]:
    """Return ``cpu``, ``memory`` and ``volumes``: requested over allocatable amounts of each node.

    The fraction is 1 for cpu or memory that a node lacks. That of volumes is NaN for a node without
    a limit of volumes, and for all nodes unless ``volumes``.
    """
    allocatable = snapshot.allocatable[nodes, : len(BASE)]
    wanted = requested(snapshot, container, nodes) / np.maximum(allocatable, 1)
    cpu, memory = np.where(allocatable > 0, wanted, 1.0).T
    nothing = np.full(len(nodes), np.nan)
    attached = _volume_fraction(snapshot, container, nodes) if volumes else nothing
    return {"cpu": cpu, "memory": memory, "volumes": attached}


def _volume_fraction(snapshot: Snapshot, container: Container, nodes: IntArray) -> FloatArray:
    """Requested over allocatable volumes; NaN for a node without a limit of volumes."""
    column = snapshot.column(VOLUMES)
    if column is None:
        return np.full(len(nodes), np.nan)
    most = snapshot.allocatable[nodes, column]
    wanted = snapshot.requested[nodes, column] + container.request[column]
    return np.where(most > 0, wanted / np.maximum(most, 1), np.nan)


def free_share(size: Any, wanted: Any, constants: Any) -> Any:
    """Return the free share of a resource, an integer 0..``constants[0]``; 0 if over-full."""
    return quotient(np.maximum(size - wanted, 0) * constants[0], size)


@dataclass(frozen=True, kw_only=True)
class TenthsPolicy(PlacementPolicy):
    """Base of the old priorities that score by the integer mean of a cpu and a memory score."""

    max_score: Annotated[int, About("The best score: 10 up to v1.16, then 100.", minimum=1)] = 10

    @property
    def best_score(self) -> float | None:
        """The highest score, ``max_score``."""
        return self.max_score

    def of_tenths(self, part: Callable[..., Any], better: Literal["emptier", "fuller"]) -> Formula:
        """Return a formula for the integer mean of the parts of cpu and memory, 0..max_score."""
        return Formula(
            part=part,
            resources=(("cpu", 1), ("memory", 1)),
            total=half_sum,
            better=better,
            nonzero=True,
            constants=(self.max_score,),
            counted_as=with_upstream_overhead,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the score of cpu and of memory, 0..max_score; 0 if a node lacks the resource."""
        formula = self.score_formula()
        parts = {} if formula is None else formula.explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}


# The two roundings of Go in scores: halves away from zero, and division toward zero.

_INT64_MIN = np.iinfo(np.int64).min
_TOO_LARGE = 2.0**63


def half_away(values: ArrayLike) -> IntArray:
    """Round to the nearest integer, halves away from zero (``math.Round``); the shape stays."""
    return to_int(rounded(np.asarray(values, dtype=np.float64)))


def rounded(value: Any) -> Any:
    """Return ``half_away`` as a float, for arrays and, compiled, for numbers."""
    whole = np.trunc(value)
    return either(np.abs(value - whole) >= 0.5, whole + np.copysign(1.0, value), whole)


def to_int(values: ArrayLike) -> IntArray:
    """Truncate floats to int64; a value that does not fit gives the least int64, as on x86-64."""
    given = np.asarray(values, dtype=np.float64)
    fits = np.abs(given) < _TOO_LARGE
    return np.where(fits, np.where(fits, given, 0.0).astype(np.int64), _INT64_MIN)


def divide(numerator: Any, denominator: Any) -> IntArray:
    """Return the integer quotient truncated toward zero; 0 for a denominator of 0."""
    top, bottom = np.asarray(numerator, np.int64), np.asarray(denominator, np.int64)
    safe = np.where(bottom == 0, 1, bottom)
    quotient = np.abs(top) // np.abs(safe)
    signed = np.where((top < 0) != (safe < 0), -quotient, quotient)
    return np.asarray(np.where(bottom == 0, 0, signed))
