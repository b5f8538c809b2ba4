"""Scores by requests, as the scheduler's plugins NodeResources* give them."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs, ParameterError
from tracekit.cluster.resources import full_name
from tracekit.policy.placement import (
    Formula,
    PlacementPolicy,
    Reads,
    ScoreError,
    Scores,
    UsedBy,
    quotient,
)
from tracekit.policy.placement._parts import requested as forms
from tracekit.policy.placement._parts.formula import Share, check_weights, shares
from tracekit.policy.placement._parts.requested import divide, half_away, legacy_fractions
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class _WeightedResources(PlacementPolicy):
    """Base of the strategies whose score is the weighted mean over resources."""

    best_score = 100

    resources: Annotated[Pairs, About("Resources with their weights, 1..100.")] = (
        ("cpu", 1),
        ("memory", 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "scoringStrategy.resources", 1, 100)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the percentage of each resource in the formula."""
        formula = self.score_formula()
        return {} if formula is None else formula.explain(snapshot, container, nodes)


@dataclass(frozen=True, kw_only=True)
class LeastAllocated(_WeightedResources):
    """Spread requests: prefer the node with the largest free percentages of its resources."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/least_allocated.go (NodeResourcesFit, LeastAllocated)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    def score_formula(self) -> Formula:
        """Return a formula: the weighted integer mean of free percentages after placing, 0..100."""
        return Formula(
            part=free_percent,
            resources=self.resources,
            total=quotient,
            better="emptier",
            nonzero=True,
        )


def free_percent(size: Any, wanted: Any) -> Any:
    """Return the free percentage of a resource."""
    return quotient(np.maximum(size - wanted, 0) * 100, size)


@dataclass(frozen=True, kw_only=True)
class MostAllocated(_WeightedResources):
    """Pack requests: prefer the node with the largest requested percentages of its resources."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/most_allocated.go (NodeResourcesFit, MostAllocated)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    def score_formula(self) -> Formula:
        """Return a formula: the weighted integer mean of requested percentages, 0..100."""
        return Formula(
            part=taken_percent,
            resources=self.resources,
            total=quotient,
            better="fuller",
            nonzero=True,
        )


def taken_percent(size: Any, wanted: Any) -> Any:
    """Return the requested percentage of a resource."""
    return quotient(np.minimum(wanted, size) * 100, size)


# A piecewise linear function of utilisation, in integers. Source: kubernetes v1.34
# pkg/scheduler/framework/plugins/helper/shape_score.go.

Shape = tuple[tuple[int, int], ...]

#: Path of the shape in the scheduler's configuration, for errors.
FIELD = "scoringStrategy.shape"


def broken_linear(points: Sequence[Sequence[int]], at: IntArray) -> IntArray:
    """Return the piecewise linear function of ``at`` through points (x, y), x ascending.

    It has the shape of ``at``, is in integers, and is flat outside of the points.
    """
    xs, ys = np.array(points, dtype=np.int64).reshape(-1, 2).T
    right = np.clip(np.searchsorted(xs, at, side="left"), 1, max(len(xs) - 1, 1))
    if len(xs) == 1:
        return np.full(at.shape, ys[0])
    left = right - 1
    rise, run = ys[right] - ys[left], xs[right] - xs[left]
    inside = np.clip(at, xs[0], xs[-1])
    return np.asarray(ys[left] + divide(rise * (inside - xs[left]), run))


def check_shape(shape: Shape) -> None:
    """Raise ParameterError, with kube-scheduler's name of the field, for an invalid point."""
    if not shape:
        raise ParameterError(FIELD, "shape has no point; at least one is needed")
    for at, (utilization, score) in enumerate(shape):
        if not 0 <= utilization <= 100:
            raise ParameterError(
                f"{FIELD}[{at}].utilization", f"utilization must be 0..100, got {utilization}"
            )
        if at and utilization <= shape[at - 1][0]:
            raise ParameterError(
                f"{FIELD}[{at}].utilization",
                f"utilization must rise from point to point, got {utilization} after"
                f" {shape[at - 1][0]}",
            )
        if not 0 <= score <= 10:
            raise ParameterError(f"{FIELD}[{at}].score", f"score must be 0..10, got {score}")


#: The score of a node, 0..100, over the score of a point, 0..10.
_SCALE = 10


@dataclass(frozen=True, kw_only=True)
class RequestedToCapacityRatio(_WeightedResources):
    """Score each resource by a piecewise linear function of its requested percentage."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.34 noderesources/requested_to_capacity_ratio.go"
        " (NodeResourcesFit, RequestedToCapacityRatio)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"

    shape: Annotated[
        Shape, About("Points utilization:score of rising utilization 0..100 and score 0..10.")
    ] = ((0, 10), (100, 0))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self.shape)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the weighted mean over resources with a score above 0, rounded, 0..100."""
        if not self.resources:
            raise ScoreError("requested_to_capacity_ratio has no resource to score by")
        total = np.zeros(len(nodes), dtype=np.int64)
        weight = np.zeros(len(nodes), dtype=np.int64)
        for share in shares(snapshot, container, nodes, self.resources, nonzero=True):
            part = self._part(share)
            counts = share.counted & (part > 0)
            total += np.where(counts, part * share.weight, 0)
            weight += np.where(counts, share.weight, 0)
        return half_away(total / np.maximum(weight, 1))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the score of each resource; a score of 0 does not enter the mean."""
        every = shares(snapshot, container, nodes, self.resources, nonzero=True)
        return {s.name: np.where(s.counted, self._part(s), np.nan) for s in every}

    def _part(self, share: Share) -> IntArray:
        percent = share.requested * 100 // np.maximum(share.allocatable, 1)
        capped = np.where(share.requested > share.allocatable, 100, percent)
        return np.asarray(_table(self.shape)[np.clip(capped, 0, 100)])


@functools.cache
def _table(shape: Shape) -> IntArray:
    """The score of each whole percentage, shape (101,)."""
    return broken_linear([(x, y * _SCALE) for x, y in shape], np.arange(101))


@dataclass(frozen=True, kw_only=True)
class NodeResourcesAllocatable(PlacementPolicy):
    """Order nodes by their allocatable amounts; requests and use do not count."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "scheduler-plugins 903da7df pkg/noderesources/allocatable.go (NodeResourcesAllocatable)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100

    mode: Annotated[
        Literal["Least", "Most"], About("Least: prefer small nodes; Most: prefer large ones.")
    ] = "Least"
    resources: Annotated[
        Pairs, About("Weights per millicore and per byte; 1 millicore counts as 1 MiB.")
    ] = (("cpu", 1 << 20), ("memory", 1))

    def __post_init__(self) -> None:
        super().__post_init__()
        for at, (name, weight) in enumerate(self.resources):
            if weight <= 0:
                raise ParameterError(
                    f"resources[{at}].weight",
                    f"weight of resource {name} must be above 0, got {weight}",
                )

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return mode and resources; the default for an empty value."""
        return {
            **arguments,
            "mode": arguments.get("mode") or cls.mode,
            "resources": arguments.get("resources") or dict(cls.resources),
        }

    def score(
        self,
        snapshot: Snapshot,
        container: Container,  # noqa: ARG002
        nodes: IntArray,
    ) -> Scores:
        """Return the weighted integer mean of allocatable amounts, negative in mode Least."""
        total = np.zeros(len(nodes), dtype=np.int64)
        for name, weight in self.resources:
            column = snapshot.column(full_name(name))
            if column is not None:
                total += snapshot.allocatable[nodes, column] * weight
        sign = -1 if self.mode == "Least" else 1
        return divide(sign * total, sum(weight for _, weight in self.resources))

    def normalize(self, scores: Scores) -> Scores:
        """Return ``(v - low) * 100 div (high - low)`` of each score v; 0 for equal scores."""
        low, high = int(scores.min()), int(scores.max())
        return divide((scores - low) * 100, high - low)


Form = Literal["v1_22", "v1_36", "legacy_100", "legacy_10"]
_LEGACY = {"legacy_100": 100, "legacy_10": 10}


@dataclass(frozen=True, kw_only=True)
class BalancedAllocation(PlacementPolicy):
    """Keep the requested fractions of resources close to each other on every node."""

    common: ClassVar[bool] = True
    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.35 noderesources/balanced_allocation.go (NodeResourcesBalancedAllocation)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("balanced_allocation_legacy",)

    resources: Annotated[Pairs, About("Resources of the score; every weight must be 1.")] = (
        ("cpu", 1),
        ("memory", 1),
    )
    form: Annotated[
        Form,
        About(
            "v1_22: versions 1.22 to 1.35; v1_36: the change of balance; legacy_100, legacy_10: cpu"
            " and memory by non-zero requests, 0..100 from 1.17 and 0..10 before."
        ),
    ] = "v1_22"
    include_volumes: Annotated[
        bool, About("Whether the legacy forms count attached volumes, if nodes limit them.")
    ] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self.resources, "resources", 1, 1)
        for at, (name, _) in enumerate(self.resources):
            if name in [earlier for earlier, _ in self.resources[:at]]:
                raise ParameterError(
                    f"resources[{at}].name", f"resource {name} is named twice, once is enough"
                )

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments, with ``max_score`` 10 or 100 replaced by a legacy ``form``."""
        rest = {name: value for name, value in arguments.items() if name != "max_score"}
        if "max_score" not in arguments:
            return rest
        form = f"legacy_{arguments['max_score']}"
        if form not in _LEGACY:
            raise ParameterError("max_score", f"max_score must be 10 or 100, got {form[7:]}")
        return {**rest, "form": form}

    @property
    def best_score(self) -> float | None:
        """The highest score: 100, or 10 in the oldest form."""
        return _LEGACY.get(self.form, 100)

    def skips(self, snapshot: Snapshot, container: Container) -> bool:
        """Return whether the container requests none of the configured resources."""
        if self.form in _LEGACY:
            return False
        columns = [snapshot.column(full_name(name)) for name, _ in self.resources]
        return all(container.request[at] == 0 for at in columns if at is not None)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the balance of requested fractions by ``form``; 0 for a skipped container.

        It is ``trunc(100 * (1 - sd))`` of their standard deviation sd for v1_22, ``balance_change``
        for v1_36, and ``legacy_balance`` for the others.
        """
        if self.skips(snapshot, container):
            return np.zeros(len(nodes), dtype=np.int64)
        if self.form in _LEGACY:
            parts = self.explain(snapshot, container, nodes)
            return forms.legacy_balance(
                parts["cpu"], parts["memory"], parts["volumes"], _LEGACY[self.form]
            )
        if not self.resources:
            raise ScoreError("balanced_allocation has no resource to score by: resources is empty")
        fractions = self._fractions(snapshot, container, nodes, before=False)
        if self.form == "v1_22":
            return forms.balance(_stacked(fractions, nodes))
        earlier = self._fractions(snapshot, container, nodes, before=True)
        return forms.balance_change(_stacked(fractions, nodes), _stacked(earlier, nodes))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the requested fraction of each resource; at most 1, except in the legacy forms."""
        if self.form not in _LEGACY:
            return self._fractions(snapshot, container, nodes, before=False)
        return legacy_fractions(snapshot, container, nodes, volumes=self.include_volumes)

    def _fractions(
        self, snapshot: Snapshot, container: Container, nodes: IntArray, *, before: bool
    ) -> dict[str, FloatArray]:
        fractions = {}
        for share in shares(snapshot, container, nodes, self.resources, nonzero=False):
            requested = share.requested - share.incoming if before else share.requested
            fraction = forms.requested_share(np.maximum(share.allocatable, 1), requested)
            every = share.counted.all()
            fractions[share.name] = fraction if every else np.where(share.counted, fraction, np.nan)
        return fractions


def _stacked(parts: Mapping[str, FloatArray], nodes: IntArray) -> FloatArray:
    return np.array(list(parts.values())).reshape(len(parts), len(nodes))
