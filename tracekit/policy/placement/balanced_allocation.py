"""Balanced allocation: the node with the most even requests after placing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, Pairs, ParameterError
from tracekit.cluster.resources import full_name
from tracekit.policy.placement import PlacementPolicy, Reads, ScoreError, Scores, UsedBy
from tracekit.policy.placement._parts import requested as forms
from tracekit.policy.placement._parts.requested import legacy_fractions
from tracekit.policy.placement._parts.shares import check_weights, shares
from tracekit.policy.view.snapshot import Container, Snapshot

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
        """The arguments with ``form`` in place of ``max_score`` of the legacy forms."""
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
        """Whether the container requests none of the configured resources."""
        if self.form in _LEGACY:
            return False
        columns = [snapshot.column(full_name(name)) for name, _ in self.resources]
        return all(container.request[at] == 0 for at in columns if at is not None)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """``trunc(100 * (1 - sd))`` of the requested fractions, 50..100; 0 for best effort."""
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
        """The requested fraction of each resource; at most 1, except in the legacy forms."""
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
