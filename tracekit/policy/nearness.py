"""Nearness: any policy may also prefer nodes that run the services a container calls.

Written as a parameter of the policy: ``least_allocated[near_weight=1]``. The policy's scores are
brought to 0..100 over the candidates, as scheduler-plugins' NetworkOverhead brings its costs
(903da7df, normalised as Peaks is), and the share of the container's calls that would stay on the
node, brought to 0..100 likewise, is added ``near_weight`` times. A call to another node of the rack
counts two thirds of one that stays, to another rack of the zone one third: two and four hops of the
six that a network of three tiers has. Where no node states a rack or a zone there is one distance:
the same node or another.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Scores
from tracekit.policy.view.snapshot import Container, Snapshot

#: The parameter that every policy has beyond its own.
PARAMETER = "near_weight"
_MADE: dict[type[PlacementPolicy], type[PlacementPolicy]] = {}
_TYPE = Annotated[
    float, About("How much keeping calls on the node counts beside the policy.", minimum=0)
]


def near_kind(kind: type[PlacementPolicy]) -> type[PlacementPolicy]:
    """The policy with nearness; raises TracekitError for one that cannot have it."""
    if kind not in _MADE:
        _MADE[kind] = _near_kind(kind)
    return _MADE[kind]


def _near_kind(kind: type[PlacementPolicy]) -> type[PlacementPolicy]:
    if "recorded" in kind.reads or kind.batched:
        why = "decides batch by batch" if kind.batched else "is what production did"
        raise TracekitError(
            f"policy {kind.name()} {why}: {PARAMETER} has no say in it",
            hint=f"for example 'least_allocated[{PARAMETER}=1]'",
        )

    class Near(kind):  # type: ignore[misc, valid-type]
        __doc__ = kind.__doc__
        reads = kind.reads | {"placed", "calls"}
        joint = True

        near_weight = 0.0

        def __post_init__(self) -> None:
            super().__post_init__()
            own = {name: getattr(self, name) for name in parameters.names(kind)}
            # a policy alone: one that asks itself for its score must get its own
            object.__setattr__(self, "_alone", kind(**own))

        def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
            own = _own_score(self._alone, snapshot, container, nodes)
            return own + self.near_weight * to_hundred(calls_that_stay(snapshot, container)[nodes])

        def normalize(self, scores: Scores) -> Scores:
            return scores

        def skips(self, snapshot: Snapshot, container: Container) -> bool:  # noqa: ARG002
            return False

        def explain(
            self, snapshot: Snapshot, container: Container, nodes: IntArray
        ) -> dict[str, FloatArray]:
            own = _own_score(self._alone, snapshot, container, nodes)
            stay = calls_that_stay(snapshot, container)[nodes]
            parts: dict[str, FloatArray] = self._alone.explain(snapshot, container, nodes)
            return {**parts, "policy of 100": own, "calls kept": stay}

    # as a value, for the module that the class will be said to be of does not know the names
    Near.__annotations__ = {PARAMETER: _TYPE}
    made = dataclass(frozen=True, kw_only=True)(Near)
    made.__module__, made.__qualname__ = kind.__module__, kind.__qualname__
    return made


#: What a call counts that stays in the domain, beside one that stays on the node.
_STAYS = {"rack": 2 / 3, "zone": 1 / 3}


def calls_that_stay(snapshot: Snapshot, container: Container) -> FloatArray:
    """Share of the container's calls that would stay on each node, or near it; shape (nodes,)."""
    placed, nodes = snapshot.placed, len(snapshot.capacity)
    on_node = snapshot.calls.stay_share(
        container.kind, snapshot.calls.kind[placed.index], placed.node, nodes
    )
    nearness, inside = on_node, on_node
    for kind, share in _STAYS.items():
        domain = None if snapshot.domains is None else snapshot.domains.by(kind)
        if domain is None:
            continue
        known = domain >= 0
        sums = np.bincount(domain[known], on_node[known], minlength=1)
        within = np.maximum(np.where(known, sums[np.maximum(domain, 0)], on_node), inside)
        nearness = nearness + share * (within - inside)
        inside = within
    return nearness


def to_hundred(values: Scores) -> FloatArray:
    """Values brought to 0..100 from the least to the most; all 100 where they are equal."""
    numbers = np.asarray(values, dtype=np.float64)
    low, high = float(numbers.min()), float(numbers.max())
    if high <= low:
        return np.full(len(numbers), 100.0)
    return np.asarray(100.0 * (numbers - low) / (high - low))


def _own_score(
    policy: PlacementPolicy, snapshot: Snapshot, container: Container, nodes: IntArray
) -> FloatArray:
    if policy.skips(snapshot, container):
        return np.full(len(nodes), 100.0)
    return to_hundred(policy.normalize(policy.score(snapshot, container, nodes)))
