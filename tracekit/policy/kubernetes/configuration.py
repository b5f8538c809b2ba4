"""Reads a ``KubeSchedulerConfiguration``: its profile, plugins, weights and arguments.

Source: kubernetes v1.34 pkg/scheduler/apis/config/v1 (default_plugins.go, defaults.go) and
pkg/scheduler/framework/runtime (expandMultiPointPlugins).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET

from tracekit.base.documents import (
    Arguments,
    Fields,
    NoEffect,
    Reading,
    To,
    Whole,
    decode,
)
from tracekit.base.errors import TracekitError, nearest, strangers
from tracekit.policy.kubernetes.scorers import SCORERS, SILENT, Extender, Translated
from tracekit.policy.profile import Part

KIND = "KubeSchedulerConfiguration"
_DEFAULT = "default-scheduler"
_PREEMPTION = "DefaultPreemption"
#: Plugins that are enabled by default, with their weight; 0 for a plugin that does not score.
_ENABLED = {
    "SchedulingGates": 0,
    "PrioritySort": 0,
    "NodeUnschedulable": 0,
    "NodeName": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 0,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 0,
    "DefaultPreemption": 0,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": 0,
}
#: Further plugins, of earlier versions and of scheduler-plugins, that a replay follows or that
#: change nothing in a replay.
_KNOWN = {
    *("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
    *("Coscheduling", "QOSSort"),
}
_KNOWN_PLUGINS = {*_ENABLED, *_KNOWN, *SCORERS, *SILENT}
#: The filter plugins of each rule of a workload: the rule is lifted if all of them are disabled.
_RULES = {
    "selector": ("NodeAffinity",),
    "taints": ("TaintToleration", "NodeUnschedulable"),
    "apart": ("InterPodAffinity",),
    "together": ("InterPodAffinity",),
    "affinity": ("InterPodAffinity",),
    "anti-affinity": ("InterPodAffinity",),
    "spread": ("PodTopologySpread",),
    "ports": ("NodePorts",),
}
#: Plugins that sort the queue. The scheduler refuses a profile without such a plugin, and without
#: a plugin that binds (framework/runtime NewFramework).
_SORTING = {"PrioritySort", "Coscheduling", "QOSSort"}
Percentage = Annotated[int, msgspec.Meta(ge=0, le=100)]


#: The arguments of plugins; other known plugins have none.
_ARGUMENTS: Mapping[str, Arguments[Any, Fields]] = {
    **SCORERS,
    "Coscheduling": Arguments(
        dict,
        Fields,
        permitWaitingTimeSeconds=To(Whole, "wait_s", default=60),
        podGroupBackoffSeconds=To(Whole, "backoff_s", default=0),
    ),
    **{
        plugin: Arguments(dict, Fields, **dict.fromkeys(names.split(), NoEffect))
        for plugin, names in {
            "DefaultPreemption": "minCandidateNodesPercentage minCandidateNodesAbsolute",
            "DynamicResources": "filterTimeout bindingTimeout",
            "InterPodAffinity": "hardPodAffinityWeight ignorePreferredTermsOfExistingPods",
            "NodeAffinity": "addedAffinity",
            "VolumeBinding": "bindTimeoutSeconds shape",
        }.items()
    },
}
_NONE = Arguments[Any, Fields](dict, Fields)
_PointName = Literal[
    "multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore",
    "score", "reserve", "permit", "preBind", "bind", "postBind", "placementGenerate",
]  # fmt: skip


class _Plugin(Fields, frozen=True):
    name: str = ""
    weight: Whole = 0


class _Point(Fields, frozen=True):
    enabled: tuple[_Plugin, ...] = ()
    disabled: tuple[_Plugin, ...] = ()

    @property
    def weights(self) -> dict[str, int]:
        return {one.name: one.weight for one in self.enabled}

    @property
    def off(self) -> set[str]:
        return {one.name for one in self.disabled}

    def __post_init__(self) -> None:
        _refuse_twice([one.name for one in self.enabled], "enabled has name")


class _Config(Fields, frozen=True):
    name: str = ""
    args: dict[str, Any] = msgspec.field(default_factory=dict)


class _Profile(Fields, frozen=True):
    scheduler_name: str = _DEFAULT
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: dict[_PointName, _Point] = msgspec.field(default_factory=dict)
    plugin_config: tuple[_Config, ...] = ()

    def __post_init__(self) -> None:
        _refuse_twice([one.name for one in self.plugin_config], "pluginConfig has name")

    def point(self, name: _PointName) -> _Point:
        return self.plugins.get(name, _Point())


class _Configuration(Fields, frozen=True):
    percentage_of_nodes_to_score: Percentage = 0
    profiles: tuple[_Profile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    # settings of the program that change no decision
    leader_election: NoEffect = UNSET
    client_connection: NoEffect = UNSET
    healthz_bind_address: NoEffect = UNSET
    metrics_bind_address: NoEffect = UNSET
    enable_profiling: NoEffect = UNSET
    enable_contention_profiling: NoEffect = UNSET
    parallelism: NoEffect = UNSET
    delay_cache_until_active: NoEffect = UNSET
    pod_initial_backoff_seconds: NoEffect = UNSET
    pod_max_backoff_seconds: NoEffect = UNSET

    def __post_init__(self) -> None:
        _refuse_twice([one.scheduler_name for one in self.profiles], "profiles has schedulerName")


def _refuse_twice(names: Sequence[str], what: str) -> None:
    """Raise ValueError for a name that stands twice in a list, as the scheduler does."""
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise ValueError(f"{what} '{twice}' twice, expected each once")


def translated(document: Mapping[str, object], path: Path, profile: str) -> Translated:
    """Translate one profile of a kube-scheduler configuration into the parts of a policy.

    Profile '' is ``default-scheduler``, or the only profile of the document.

    Raises
    ------
    TracekitError
        For values that the scheduler would refuse, or an unknown profile.
    """
    version = str(document.get("apiVersion"))
    if not version.startswith("kubescheduler.config.k8s.io/v1"):
        raise TracekitError(
            f"'{path}': apiVersion is '{version}', expected kubescheduler.config.k8s.io/v1"
        )
    reading = Reading()
    top = decode(document, _Configuration, "", reading)
    profiles = top.profiles or (_Profile(),)
    names = [one.scheduler_name for one in profiles]
    at = _chosen(names, path, profile)
    percentage = profiles[at].percentage_of_nodes_to_score
    read = _of_profile(
        profiles[at],
        top.percentage_of_nodes_to_score if percentage is None else percentage,
        f"profiles[{at}]",
        reading,
    )
    read.notes += reading.notes
    if names[1:]:
        others = ", ".join(name for name in names if name != names[at])
        read.notes.append(f"profiles that are not replayed: {others}")
    read.add_extenders(top.extenders)
    return read


def _chosen(names: list[str], path: Path, wanted: str) -> int:
    """The position of the wanted profile."""
    name = wanted or (_DEFAULT if _DEFAULT in names or len(names) > 1 else names[0])
    if name not in names:
        close = nearest(name, names) or names[0]
        raise TracekitError(
            f"'{path}' has no profile '{name}'; it has: {', '.join(names)}",
            hint=f"name one of them: '{path}[profile={close}]'",
        )
    return names.index(name)


def _of_profile(profile: _Profile, percentage: int, where: str, reading: Reading) -> Translated:
    everywhere = _merged(_ENABLED, profile.point("multiPoint"))
    scoring = _at_point(everywhere, profile.point("score"), {*SCORERS, *SILENT})
    filtering = _at_point(everywhere, profile.point("filter"), set(_ENABLED))
    named = {*everywhere, *scoring, *filtering}.union(
        *(one.weights for one in profile.plugins.values())
    )
    read = Translated(percentage=percentage, scores=bool(scoring))
    read.notes = [*_notes(scoring, filtering, named), *_off_by_mistake(profile)]
    arguments: dict[str, Any] = {}
    for at, one in enumerate(profile.plugin_config):
        args, kind = f"{where}.pluginConfig[{at}].args", _ARGUMENTS.get(one.name, _NONE)
        if one.name in _KNOWN_PLUGINS:
            arguments[one.name] = decode(one.args, kind.kind, args, reading)
        if one.name in SCORERS and one.name not in scoring:
            read.notes.append(f"{args} has no effect: {one.name} does not score")
    reading.check()
    built = {
        name: kind.built(arguments.get(name, kind.kind()))
        for name, kind in _ARGUMENTS.items()
        if name in scoring or name == "Coscheduling"
    }
    read.parts = [
        Part(float(weight or 1), built[name]) for name, weight in scoring.items() if name in SCORERS
    ]
    read.lifted = {
        rule for rule, names in _RULES.items() if not any(name in filtering for name in names)
    }
    read.preempts = _PREEMPTION in _at_point(everywhere, profile.point("postFilter"), {_PREEMPTION})
    if "Coscheduling" in named:
        read.gang_wait_ms = 1000 * built["Coscheduling"]["wait_s"]
        read.gang_backoff_ms = 1000 * built["Coscheduling"]["backoff_s"]
    for point, what, plugins in (
        (profile.point("queueSort"), "sorts the queue", _SORTING),
        (profile.point("bind"), "binds", {"DefaultBinder"}),
    ):
        if not _at_point(everywhere, point, plugins | (everywhere.keys() - _KNOWN_PLUGINS)):
            read.notes.append(f"kube-scheduler does not start with this profile: no plugin {what}")
    return read


def _off_by_mistake(profile: _Profile) -> list[str]:
    """A note on disabled plugins that are unknown: to disable them changes nothing."""
    off = {name for point in profile.plugins.values() for name in point.off}
    strange = sorted(off - _KNOWN_PLUGINS - {"*"})
    if not strange:
        return []
    return [f"disabled and not known, so that nothing is off: {strangers(strange, _KNOWN_PLUGINS)}"]


def _notes(
    scoring: Mapping[str, int],
    filtering: Mapping[str, int],
    named: set[str],
) -> list[str]:
    """Notes on differences from the real scheduler, a line each."""
    strange = sorted(named - _KNOWN_PLUGINS)
    silent = [f"{name} ({SILENT[name]})" for name in scoring if name in SILENT]
    notes = []
    if strange:
        notes.append(f"plugins not known, and left out: {strangers(strange, _KNOWN_PLUGINS)}")
    if silent:
        notes.append(f"tell no nodes apart, for want of data: {', '.join(silent)}")
    if "NodeResourcesFit" not in filtering:
        notes.append("requests are respected, although the filter of NodeResourcesFit is disabled")
    if _PREEMPTION in named:
        notes.append("nobody is preempted, unless with --assume preemption=lower")
    return notes


def _merged(defaults: Mapping[str, int], point: _Point) -> dict[str, int]:
    """Default plugins without disabled ones; an enabled plugin gets its new weight."""
    off = point.off
    rest = {} if "*" in off else {name: of for name, of in defaults.items() if name not in off}
    return {**rest, **point.weights}


def _at_point(everywhere: Mapping[str, int], point: _Point, having: set[str]) -> dict[str, int]:
    """The plugins of an extension point: its own first, then those of multiPoint with the point."""
    enabled, off = point.weights, point.off
    rest = {
        name: weight
        for name, weight in everywhere.items()
        if name in having and name not in enabled and not off & {name, "*"}
    }
    return {**enabled, **rest}
