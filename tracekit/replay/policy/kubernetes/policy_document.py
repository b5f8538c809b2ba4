"""The ``Policy`` document of schedulers before 1.23: predicates, priorities, extenders.

Source: kubernetes v1.20 pkg/scheduler/apis/config/v1 (legacy Policy) and framework/plugins
legacy_registry.go.
"""

from collections.abc import Callable, Mapping

from tracekit.documents.given import Given
from tracekit.errors import strangers
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.policy.kubernetes.configuration import Translated
from tracekit.replay.policy.kubernetes.extenders import extender_parts
from tracekit.replay.policy.kubernetes.scorers import made
from tracekit.replay.policy.profile import Part

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
}
#: What a document without priorities has of those that tell nodes apart.
_DEFAULT = ("LeastRequestedPriority", "BalancedResourceAllocation")
_SILENT = (
    *("TaintTolerationPriority", "NodeAffinityPriority", "InterPodAffinityPriority"),
    *("ImageLocalityPriority", "NodePreferAvoidPodsPriority", "EqualPriority"),
)
#: Predicates whose rule of the workload goes where they are not listed.
_RULES = {
    "selector": ("MatchNodeSelector", "GeneralPredicates"),
    "taints": ("PodToleratesNodeTaints",),
    "apart": ("MatchInterPodAffinity",),
    "together": ("MatchInterPodAffinity",),
    "affinity": ("MatchInterPodAffinity",),
    "anti-affinity": ("MatchInterPodAffinity",),
    "spread": ("EvenPodsSpread",),
    "ports": ("PodFitsHostPorts", "GeneralPredicates"),
}
_ROOM = {"PodFitsResources", "GeneralPredicates"}
_KNOWN = {name for names in _RULES.values() for name in names} | {
    *_ROOM,
    *("HostName", "NoDiskConflict", "NoVolumeZoneConflict"),
    *("CheckVolumeBinding", "MaxEBSVolumeCount", "MaxGCEPDVolumeCount"),
    *("MaxAzureDiskVolumeCount", "MaxCSIVolumeCountPred", "CheckNodeUnschedulable"),
}


def translated(document: Mapping[str, object]) -> Translated:
    """The document, translated."""
    top = Given(document, "")
    top.known("hardPodAffinitySymmetricWeight", "alwaysCheckAllPredicates")
    found = Translated()
    listed = list(top.rows("priorities"))
    if "priorities" not in top:
        listed = [Given({"name": name, "weight": 1}, name) for name in _DEFAULT]
    strange, silent = [], []
    for one in listed:
        name, weight, argument = one.text("name"), one.whole("weight", 1), one.inside("argument")
        if name in _PRIORITIES and weight:
            found.parts = [*found.parts, Part(float(weight), _PRIORITIES[name](argument))]
        elif name in _SILENT:
            silent.append(name)
        elif weight:
            strange.append(name)
    extra, told, found.lacks_extender = extender_parts(top.rows("extenders"))
    found.parts = [*found.parts, *extra]
    found.scores = bool(listed) or bool(extra)
    predicates = {one.text("name") for one in top.rows("predicates")}
    if "predicates" in top:
        found.lifted = {rule for rule, names in _RULES.items() if not predicates & set(names)}
        if not predicates & _ROOM:
            found.notes.append("requests are respected, although no predicate asks for it")
    top.check_spelling()
    strange += sorted(predicates - _KNOWN)
    for what, names in (
        (
            "priorities and predicates not known, and left out",
            strangers(strange, [*_PRIORITIES, *_SILENT, *_KNOWN]),
        ),
        ("tell no nodes apart, for want of data", ", ".join(silent)),
        ("not known, and left out", ", ".join(top.unread())),
    ):
        if names:
            found.notes.append(f"{what}: {names}")
    found.notes += told
    return found
