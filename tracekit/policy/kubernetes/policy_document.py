"""Reads the ``Policy`` document of schedulers before 1.23: predicates, priorities, extenders.

Source: kubernetes v1.20 pkg/scheduler/framework/plugins/legacy_registry.go (defaults, mandatory
predicates, custom ones) and apis/config/validation/validation.go (ValidatePolicy: weights).
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from tracekit.base.documents import Fields, decode
from tracekit.base.errors import strangers
from tracekit.policy.kubernetes.scorers import Extender, Ratio, Translated, made
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.profile import Part

KIND = "Policy"


class _Argument(Fields, frozen=True):
    requested_to_capacity_ratio_arguments: Ratio | None = None
    # arguments of custom priorities and predicates: rules on labels that no workload has
    label_preference: Any = None
    service_anti_affinity: Any = None
    labels_presence: Any = None
    service_affinity: Any = None

    @property
    def is_own(self) -> bool:
        """Whether the argument is one of a custom priority or predicate."""
        own = (self.label_preference, self.service_anti_affinity, self.labels_presence)
        return any(one is not None for one in (*own, self.service_affinity))


class _Predicate(Fields, frozen=True):
    name: str = ""
    argument: _Argument = _Argument()


class _Priority(_Predicate, frozen=True, kw_only=True):
    weight: Annotated[int, msgspec.Meta(ge=1)]


class _Document(Fields, frozen=True):
    hard_pod_affinity_symmetric_weight: Any = None
    always_check_all_predicates: Any = None
    priorities: tuple[_Priority, ...] | None = None
    predicates: tuple[_Predicate, ...] | None = None
    extenders: tuple[Extender, ...] = ()


def _ratio(argument: _Argument) -> PlacementPolicy:
    return (argument.requested_to_capacity_ratio_arguments or Ratio()).policy()


_PRIORITIES: dict[str, Callable[[_Argument], PlacementPolicy]] = {
    "LeastRequestedPriority": lambda _: made("least_requested", max_score=100),
    "MostRequestedPriority": lambda _: made("most_requested", max_score=100),
    "BalancedResourceAllocation": lambda _: made("balanced_allocation", form="legacy_100"),
    "RequestedToCapacityRatioPriority": _ratio,
    **dict.fromkeys(
        ("SelectorSpreadPriority", "ServiceSpreadingPriority"), lambda _: made("selector_spread")
    ),
}
#: The default priorities of a document without priorities, those that tell nodes apart.
_DEFAULT = ("SelectorSpreadPriority", "LeastRequestedPriority", "BalancedResourceAllocation")
_SILENT = (
    *("TaintTolerationPriority", "NodeAffinityPriority", "InterPodAffinityPriority"),
    *("ImageLocalityPriority", "NodePreferAvoidPodsPriority", "EqualPriority"),
    "EvenPodsSpreadPriority",
)
#: The predicates of each rule of a workload: the rule is lifted if none of them is listed. Taints
#: always hold, as their predicates are mandatory.
_RULES = {
    "selector": ("MatchNodeSelector", "GeneralPredicates"),
    "apart": ("MatchInterPodAffinity",),
    "together": ("MatchInterPodAffinity",),
    "affinity": ("MatchInterPodAffinity",),
    "anti-affinity": ("MatchInterPodAffinity",),
    "spread": ("EvenPodsSpread",),
    "ports": ("PodFitsHostPorts", "PodFitsPorts", "GeneralPredicates"),
}
_ROOM = {"PodFitsResources", "GeneralPredicates"}
_KNOWN = {name for names in _RULES.values() for name in names} | {
    *_ROOM,
    *("HostName", "NoDiskConflict", "NoVolumeZoneConflict"),
    *("CheckVolumeBinding", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"),
    *("MaxAzureDiskVolumeCount", "MaxCSIVolumeCountPred", "MaxCinderVolumeCount"),
    *("CheckNodeUnschedulable", "PodToleratesNodeTaints"),
}


def translated(document: Mapping[str, object]) -> Translated:
    """Translate a ``Policy`` document of schedulers before 1.23 into the parts of a policy."""
    top = decode(document, _Document)
    read = Translated()
    listed = top.priorities
    if listed is None:
        listed = tuple(_Priority(name=name, weight=1) for name in _DEFAULT)
    strange: list[str] = []
    silent: list[str] = []
    own: list[str] = []
    for one in listed:
        name, argument = one.name, one.argument
        if name in _PRIORITIES or argument.requested_to_capacity_ratio_arguments:
            policy = _PRIORITIES.get(name, _ratio)(argument)
            read.parts.append(Part(float(one.weight), policy))
        elif name in _SILENT:
            silent.append(name)
        else:
            (own if argument.is_own else strange).append(name)
    read.scores = bool(listed)
    own += [one.name for one in top.predicates or () if one.argument.is_own]
    predicates = {one.name for one in top.predicates or ()}
    if top.predicates is not None:
        read.lifted = {rule for rule, names in _RULES.items() if not predicates & set(names)}
        if not predicates & _ROOM:
            read.notes.append("requests are respected, although no predicate asks for it")
    strange += sorted(predicates - _KNOWN - set(own))
    for what, names in (
        (
            "priorities and predicates not known, and left out",
            strangers(strange, [*_PRIORITIES, *_SILENT, *_KNOWN]),
        ),
        ("rules on labels of nodes or of services, left out", ", ".join(own)),
        ("tell no nodes apart, for want of data", ", ".join(silent)),
    ):
        if names:
            read.notes.append(f"{what}: {names}")
    read.add_extenders(top.extenders)
    return read
