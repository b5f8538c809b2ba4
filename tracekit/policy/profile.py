"""Profiles, which weigh policies as kube-scheduler weighs plugins, and nearness of calls.

A profile is spelled ``0.7*target_load_packing+0.3*load_variation_risk_balancing``. Every policy
scores each candidate 0..100, and the node with the highest weighted sum is chosen. The scores of a
policy with a ``best_score`` are multiplied to that range. Other scores are scaled linearly from the
lowest to the highest over the candidates, and are all 100 if they are equal, as NormalizeScore of
kube-scheduler's plugins does.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy, Scores, UsedBy
from tracekit.policy.view.snapshot import Container, Snapshot, Tie

#: The highest score of a part.
FULL = 100
#: An example of a spelling, for errors.
EXAMPLE = "for example 0.7*least_allocated+0.3*balanced_allocation"
_ENDINGS = {"of_hundred": " of 100", "tenths": " of 10", "as_is": ""}


#: The weighted scores of a policy: scaled to 0..100, to whole numbers 0..10, or as they are.
How = Literal["of_hundred", "tenths", "as_is"]


#: The highest weight; up to it sums of whole scores are exact.
_HEAVIEST = 1e9


@dataclass(frozen=True)
class Part:
    """One policy of a profile with its weight, which is above 0 and at most 1e9."""

    weight: float
    policy: PlacementPolicy
    how: How = "of_hundred"

    def __post_init__(self) -> None:
        if not 0 < self.weight <= _HEAVIEST:
            raise TracekitError(
                f"weight {self.weight:g} of {self.policy} must be above 0 and at most"
                f" {_HEAVIEST:,.0f}",
                hint=EXAMPLE,
            )

    def __str__(self) -> str:
        return f"{_number(self.weight)}*{self.policy}"

    @property
    def address(self) -> str:
        """The text that any process can parse, with full paths of files."""
        return f"{_number(self.weight)}*{self.policy.address()}"

    @property
    def together(self) -> bool:
        """Whether the scaled score of a node depends on the other candidates."""
        policy = self.policy
        own = type(policy).normalize is not PlacementPolicy.normalize
        return policy.joint or own or policy.best_score is None

    def scores(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return scores scaled by ``how``, not weighted; 0 if the policy skips the container."""
        policy = self.policy
        if policy.skips(snapshot, container):
            return np.zeros(len(nodes), dtype=np.int64)
        scores = policy.normalize(policy.score(snapshot, container, nodes))
        if self.how == "as_is":
            return scores
        if policy.best_score is None:
            scores = to_hundred(scores)
        elif policy.best_score != FULL:
            scores = np.asarray(scores * (FULL / policy.best_score))
        return scores if self.how == "of_hundred" else tenths(scores)


def tenths(of_hundred: Scores) -> IntArray:
    """Return scores 0..100 rounded down to whole numbers 0..10, the scale of extenders."""
    return np.floor(of_hundred / 10).astype(np.int64)


class Profile(PlacementPolicy):
    """Base of every profile, a weighted sum of policies; ``profile`` derives a class for each."""

    parts: ClassVar[tuple[Part, ...]]
    text: ClassVar[str]
    where: ClassVar[str]
    document: ClassVar[str | None] = None

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the weighted sum of scores, exact for whole weights and scores."""
        total: Any = np.zeros(len(nodes), dtype=np.int64)
        for part in self.parts:
            scores = part.scores(snapshot, container, nodes)
            weight = int(part.weight) if part.weight == int(part.weight) else part.weight
            total = total + weight * scores
        scored: Scores = total
        return scored

    def skips(self, snapshot: Snapshot, container: Container) -> bool:
        """Return whether all parts skip the container."""
        return all(part.policy.skips(snapshot, container) for part in self.parts)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the scaled scores of each policy by its name; a repeated name gets a number."""
        parts: dict[str, FloatArray] = {}
        for part in self.parts:
            name = f"{part.policy.name()}{_ENDINGS[part.how]}"
            at = 1 + sum(1 for other in parts if other.startswith(name))
            scores = part.scores(snapshot, container, nodes)
            parts[name if at == 1 else f"{name} ({at})"] = scores.astype(np.float64)
        return parts

    def metric_samples(self) -> int:
        """Return the largest ``metric_samples`` of the parts."""
        return max((part.policy.metric_samples() for part in self.parts), default=1)

    def spelled(self) -> Mapping[str, str]:
        """Return weight and parameters of each part as text, by names as ``1.best_fit.weight``."""
        own = dict(super().spelled())
        for at, part in enumerate(self.parts, 1):
            key = f"{at}.{part.policy.name()}"
            own[f"{key}.weight"] = _number(part.weight)
            own |= {f"{key}.{name}": value for name, value in part.policy.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """Return all parts with all parameters in one text."""
        return "+".join(
            f"{_number(part.weight)}*{part.policy.name()}[{part.policy.spelled_out()}]"
            for part in self.parts
        )

    def written_in(self) -> tuple[str, ...]:
        """Return the files of all parts, and the configuration file."""
        files = [f for part in self.parts for f in part.policy.written_in()]
        return tuple(dict.fromkeys([*files, *([self.document] if self.document else [])]))

    @classmethod
    def name(cls) -> str:
        """Return the names of the parts with their weights."""
        return re.sub(r"\[[^\]]*\]", "", cls.text)

    def address(self) -> str:
        """Return the text that ``parse_policy`` reads in any process, with full paths of files."""
        return self.where

    def __str__(self) -> str:
        return self.text


def weighted(parts: Sequence[Part]) -> PlacementPolicy:
    """Return the profile of parts, which breaks ties as the first part does."""
    made: dict[str, Any] = {
        "text": "+".join(map(str, parts)),
        "where": "+".join(part.address for part in parts),
    }
    return profile(tuple(parts), parts[0].policy.tie, tuple(made.items()))


@functools.cache
def profile(
    parts: tuple[Part, ...], tie: Tie, attributes: tuple[tuple[str, Any], ...]
) -> PlacementPolicy:
    """Return a profile of parts.

    Parameters
    ----------
    attributes : pairs of name and value
        Class attributes, at least ``text`` (``str`` of the profile) and ``where`` (its address).

    Raises
    ------
    TracekitError
        For a batch policy, ``observed`` or a profile as part, which have no score to weigh.
    """
    for part in parts:
        _check(part.policy)
    kind: Any = type("Profile", (Profile,), {**_attributes(parts, tie), **dict(attributes)})
    # parameters are those of the base alone; the parts are attributes of the class
    made: PlacementPolicy = dataclass(frozen=True, kw_only=True)(kind)()
    return made


def _check(policy: PlacementPolicy) -> None:
    """Raise TracekitError for a policy without scores."""
    if policy.batched or not policy.filtered or isinstance(policy, Profile):
        why = (
            "decides batch by batch"
            if policy.batched
            else "is a whole scheduler"
            if isinstance(policy, Profile)
            else "is what production did"
        )
        raise TracekitError(
            f"policy {policy} {why}: it has no score that could be weighed",
            hint=EXAMPLE,
        )


def _used_by(each: Sequence[UsedBy]) -> UsedBy:
    """``yardstick`` for any yardstick, ``scheduler`` for schedulers alone, else ``paper``."""
    if "yardstick" in each:
        return "yardstick"
    return "scheduler" if all(one == "scheduler" for one in each) else "paper"


def _attributes(parts: tuple[Part, ...], tie: Tie) -> dict[str, Any]:
    """The attributes of the class; steps that no part overrides stay those of the base.

    Engines inspect the class to see which steps a policy overrides.
    """
    policies = [part.policy for part in parts]
    files = [one.file for one in policies if one.file]
    made: dict[str, Any] = {
        "__doc__": "Several policies, each with a weight.",
        "__annotations__": {"tie": PlacementPolicy.__annotations__["tie"]},
        "__module__": PlacementPolicy.__module__,
        "tie": tie,
        "parts": parts,
        "reads": frozenset().union(*(one.reads for one in policies)),
        "wants": tuple(dict.fromkeys(name for one in policies for name in one.wants)),
        "source": "; ".join(dict.fromkeys(one.source for one in policies)),
        "joint": any(part.together for part in parts),
        "used_by": _used_by([one.used_by for one in policies]),
        "cell": policies[0].cell if policies else "first",
        "file": files[0] if files else None,
        "limit_s": max((one.limit_s for one in policies if one.file), default=10.0),
    }
    if any(one.filters() for one in policies):
        made["admits"] = functools.partialmethod(_admits_all)
    windowed = [one for one in policies if _has_own(one, "candidates")]
    if windowed:
        made["candidates"] = _delegated(windowed[0], "candidates")
    timed = [one for one in policies if _has_own(one, "metric_time_ms")]
    if timed:
        made["metric_time_ms"] = _earliest(timed)
    return made


def _has_own(policy: PlacementPolicy, step: str) -> bool:
    return getattr(type(policy), step) is not getattr(PlacementPolicy, step)


def _admits_all(
    self: Profile, snapshot: Snapshot, container: Container, nodes: IntArray
) -> BoolArray:
    """The nodes that pass the filters of all parts."""
    passing = np.ones(len(nodes), dtype=np.bool_)
    for part in self.parts:
        passing &= part.policy.admits(snapshot, container, nodes)
    return passing


def _delegated(policy: PlacementPolicy, step: str) -> Any:
    """A method that calls that of another policy."""
    own = getattr(policy, step)

    def method(self: Profile, *given: Any) -> Any:  # noqa: ARG001 - it stands for a method
        return own(*given)

    return method


def _earliest(policies: Sequence[PlacementPolicy]) -> Any:
    """A method for the earliest metric time of several policies, which all parts then read."""

    def metric_time_ms(self: Profile, now_ms: int) -> int:  # noqa: ARG001 - same
        return min(one.metric_time_ms(now_ms) for one in policies)

    return metric_time_ms


def _number(value: float) -> str:
    """A weight as text that parses to the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


# Nearness: any policy may also prefer nodes that run the services which a container calls, by the
# parameter ``near_weight``: ``least_allocated[near_weight=1]``. The policy's scores are scaled to
# 0..100 over the candidates, as scheduler-plugins' NetworkOverhead scales its costs (903da7df). The
# share of the container's calls that would stay on the node is scaled likewise and added
# ``near_weight`` times. A call to another node of the rack counts two thirds of a call on the node,
# and a call to another rack of the zone one third, as a network of three tiers has two, four and
# six hops. If no node states a rack or a zone, only calls on the node count.

#: The parameter that every policy has beside its own.
PARAMETER = "near_weight"
_MADE: dict[type[PlacementPolicy], type[PlacementPolicy]] = {}
_TYPE = Annotated[
    float, About("How much keeping calls on the node counts beside the policy.", minimum=0)
]


def near_kind(kind: type[PlacementPolicy]) -> type[PlacementPolicy]:
    """Derive a class with parameter ``near_weight``; raises TracekitError if it has no scores."""
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
            # the plain policy: a policy that calls its own score must get the plain score
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

    # set as a value, as the module that the class will name does not define the names
    Near.__annotations__ = {PARAMETER: _TYPE}
    made = dataclass(frozen=True, kw_only=True)(Near)
    made.__module__, made.__qualname__ = kind.__module__, kind.__qualname__
    return made


#: The value of a call that stays in the domain, relative to a call on the node.
_STAYS = {"rack": 2 / 3, "zone": 1 / 3}


def calls_that_stay(snapshot: Snapshot, container: Container) -> FloatArray:
    """Return the weighted share of the container's calls that stay near each node, shape (nodes,).

    A call counts 1 if it stays on the node, 2/3 in its rack, and 1/3 in its zone.
    """
    placed, nodes = snapshot.placed, len(snapshot.capacity)
    on_node = snapshot.calls.stay_share(
        container.kind, snapshot.calls.kind[placed.index], placed.node, nodes
    )
    nearness, inside = on_node, on_node
    for kind, share in _STAYS.items():
        domain = None if snapshot.domains is None else snapshot.domains.by(kind)
        if domain is None:
            continue
        stated = domain >= 0
        sums = np.bincount(domain[stated], on_node[stated], minlength=1)
        within = np.maximum(np.where(stated, sums[np.maximum(domain, 0)], on_node), inside)
        nearness = nearness + share * (within - inside)
        inside = within
    return nearness


def to_hundred(values: Scores) -> FloatArray:
    """Scale values linearly from their minimum and maximum to 0..100; equal values become 100."""
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
