"""The ``Policy`` document of schedulers before 1.23: predicates, priorities, extenders.

Source: kubernetes v1.20 pkg/scheduler/framework/plugins/legacy_registry.go (defaults, mandatory
predicates, custom ones) and apis/config/validation/validation.go (ValidatePolicy: weights).
"""

from collections.abc import Callable, Mapping

from tracekit.base.documents.given import Given
from tracekit.base.errors import strangers
from tracekit.policy.kubernetes.configuration import Translated
from tracekit.policy.kubernetes.extenders import extender_parts, needed_weight
from tracekit.policy.kubernetes.scorers import made
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.profile import Part

KIND = "Policy"


def _ratio(argument: Given) -> PlacementPolicy:
    ratio = argument.inside("requestedToCapacityRatioArguments")
    shape = tuple(
        (one.whole("utilization", 0), one.whole("score", 0)) for one in ratio.rows("shape")
    )
    resources = tuple((r.text("name"), r.whole("weight", 1) or 1) for r in ratio.rows("resources"))
    return made(
        "requested_to_capacity_ratio",
        shape=shape,
        resources=resources or (("cpu", 1), ("memory", 1)),
    )


_PRIORITIES: dict[str, Callable[[Given], PlacementPolicy]] = {
    "LeastRequestedPriority": lambda _: made("least_requested", max_score=100),
    "MostRequestedPriority": lambda _: made("most_requested", max_score=100),
    "BalancedResourceAllocation": lambda _: made("balanced_allocation", form="legacy_100"),
    "RequestedToCapacityRatioPriority": _ratio,
    **dict.fromkeys(
        ("SelectorSpreadPriority", "ServiceSpreadingPriority"), lambda _: made("selector_spread")
    ),
}
#: What a document without priorities has of those that tell nodes apart.
_DEFAULT = ("SelectorSpreadPriority", "LeastRequestedPriority", "BalancedResourceAllocation")
_SILENT = (
    *("TaintTolerationPriority", "NodeAffinityPriority", "InterPodAffinityPriority"),
    *("ImageLocalityPriority", "NodePreferAvoidPodsPriority", "EqualPriority"),
    "EvenPodsSpreadPriority",
)
#: Arguments of priorities and predicates of one's own: rules on labels that no workload keeps.
_OWN = ("labelPreference", "serviceAntiAffinity", "labelsPresence", "serviceAffinity")
#: Predicates whose rule of the workload goes where they are not listed. Taints stay: their
#: predicates are mandatory.
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
    """The document, translated."""
    top = Given(document, "")
    top.ignore("hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates")
    found = Translated()
    listed = list(top.rows("priorities"))
    if "priorities" not in top:
        listed = [Given({"name": name, "weight": 1}, name) for name in _DEFAULT]
    strange: list[str] = []
    silent: list[str] = []
    own: list[str] = []
    for one in listed:
        name, weight, argument = one.text("name"), needed_weight(one), one.inside("argument")
        if name in _PRIORITIES or "requestedToCapacityRatioArguments" in argument:
            found.parts = [
                *found.parts,
                Part(float(weight), _PRIORITIES.get(name, _ratio)(argument)),
            ]
        elif name in _SILENT:
            silent.append(name)
        else:
            (own if _is_own(argument) else strange).append(name)
    extra, told, found.lacks_extender = extender_parts(top.rows("extenders"))
    found.parts = [*found.parts, *extra]
    found.scores = bool(listed) or bool(extra)
    rows = {one.text("name"): one.inside("argument") for one in top.rows("predicates")}
    own += [name for name, argument in rows.items() if _is_own(argument)]
    predicates = set(rows)
    if "predicates" in top:
        found.lifted = {rule for rule, names in _RULES.items() if not predicates & set(names)}
        if not predicates & _ROOM:
            found.notes.append("requests are respected, although no predicate asks for it")
    top.check_spelling()
    strange += sorted(predicates - _KNOWN - set(own))
    for what, names in (
        (
            "priorities and predicates not known, and left out",
            strangers(strange, [*_PRIORITIES, *_SILENT, *_KNOWN]),
        ),
        ("rules on labels of nodes or of services, left out", ", ".join(own)),
        ("tell no nodes apart, for want of data", ", ".join(silent)),
        ("not known, and left out", ", ".join(top.unread())),
    ):
        if names:
            found.notes.append(f"{what}: {names}")
    found.notes += told
    return found


def _is_own(argument: Given) -> bool:
    argument.ignore(*_OWN)
    return any(field in argument for field in _OWN)
