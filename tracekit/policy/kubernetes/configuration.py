"""A ``KubeSchedulerConfiguration`` as a policy: its profile, plugins, weights and arguments.

Source: kubernetes v1.34 pkg/scheduler/apis/config/v1 (default_plugins.go, defaults.go) and
pkg/scheduler/framework/runtime (expandMultiPointPlugins).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.documents.given import Given
from tracekit.base.errors import TracekitError, nearest, strangers
from tracekit.policy.kubernetes.extenders import extender_parts
from tracekit.policy.kubernetes.scorers import SCORERS, SILENT
from tracekit.policy.profile import Part

KIND = "KubeSchedulerConfiguration"
_DEFAULT = "default-scheduler"
_PREEMPTION = "DefaultPreemption"
#: Plugins that are on unless they are disabled, with their weights where they score.
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
#: Names of plugins of earlier versions and of scheduler-plugins that a replay knows, beside the
#: ones that score: it does what they do, or leaves nothing of a replay out.
_KNOWN = {
    *("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
    *("Coscheduling", "QOSSort"),
}
_KNOWN_PLUGINS = {*_ENABLED, *_KNOWN, *SCORERS, *SILENT}
#: What closes nodes here, by the plugins that do it: a rule goes where all of its plugins are off.
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
#: Points without which the scheduler refuses a profile (framework/runtime NewFramework), with what
#: their plugins do, and which are known.
_NEEDED = {
    "queueSort": ("sorts the queue", {"PrioritySort", "Coscheduling", "QOSSort"}),
    "bind": ("binds", {"DefaultBinder"}),
}
#: Arguments of plugins that are real, and change nothing here.
_WITHOUT_EFFECT = {
    "DefaultPreemption": ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"),
    "InterPodAffinity": ("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"),
    "NodeAffinity": ("addedAffinity",),
    "NodeResourcesFit": ("ignoredResources", "ignoredResourceGroups"),
    "VolumeBinding": ("bindTimeoutSeconds", "shape"),
    "DynamicResources": ("filterTimeout", "bindingTimeout"),
}
#: Fields about how the program runs, not what it decides.
_RUNNING = (
    *("leaderElection", "clientConnection", "healthzBindAddress", "metricsBindAddress"),
    *("enableProfiling", "enableContentionProfiling", "parallelism", "delayCacheUntilActive"),
    *("podInitialBackoffSeconds", "podMaxBackoffSeconds"),
)
_POINTS = (
    *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
    *("reserve", "permit", "preBind", "bind", "postBind", "placementGenerate"),
)


@dataclass
class Translated:
    """A document, translated.

    Parameters
    ----------
    parts : sequence of Part
    percentage : int
        ``percentageOfNodesToScore``; 0 adapts.
    scores : bool
        Whether any plugin scores, be it one that tells no nodes apart.
    lifted : set of str
        Rules of the workload that do not hold.
    preempts : bool
        Whether lower priorities are evicted where the workload says so: DefaultPreemption.
    gang_wait_ms, gang_backoff_ms : int, optional
        Of the plugin Coscheduling; None where it is not enabled.
    notes : list of str
        What is not as the real scheduler would do it, a line each.
    lacks_extender : bool
        Whether what an extender does is left out.
    """

    parts: Sequence[Part] = ()
    percentage: int = 0
    scores: bool = True
    lifted: set[str] = field(default_factory=set)
    preempts: bool = True
    gang_wait_ms: int | None = None
    gang_backoff_ms: int | None = None
    notes: list[str] = field(default_factory=list)
    lacks_extender: bool = False


def translated(document: Mapping[str, object], path: Path, profile: str) -> Translated:
    """The profile of a configuration; the one that pods without a ``schedulerName`` get if ''.

    Raises
    ------
    TracekitError
        For values that the scheduler would refuse, or a profile that is not there.
    """
    top = Given(document, "")
    version = str(document.get("apiVersion"))
    if not version.startswith("kubescheduler.config.k8s.io/v1"):
        raise TracekitError(
            f"'{path}': apiVersion is '{version}', expected kubescheduler.config.k8s.io/v1"
        )
    top.without_effect(*_RUNNING)
    chosen, others = _profile(list(top.rows("profiles")), path, profile)
    percentage = top.whole("percentageOfNodesToScore", 0)
    found = _of_profile(chosen, chosen.whole("percentageOfNodesToScore", percentage))
    extra, told, found.lacks_extender = extender_parts(top.rows("extenders"))
    found.parts = [*found.parts, *extra]
    found.scores = found.scores or bool(extra)
    top.check_spelling()
    mine = {*_paths(top.unread(), chosen.where)}
    if mine:
        found.notes.append(f"fields not known, and left out: {', '.join(sorted(mine))}")
    found.notes += [*top.told, *chosen.notes()]
    if others:
        found.notes.append(f"profiles that are not replayed: {', '.join(others)}")
    found.notes += told
    return found


def _paths(unread: list[str], chosen: str) -> list[str]:
    """The paths of the document and of the replayed profile, not of the others."""
    return [one for one in unread if not one.startswith("profiles[") or one.startswith(chosen)]


def _profile(profiles: list[Given], path: Path, wanted: str) -> tuple[Given, list[str]]:
    """The profile asked for, and the names of the others."""
    rows = profiles or [Given({}, "profiles[0]")]
    names = [one.text("schedulerName", _DEFAULT) for one in rows]
    _refuse_twice(names, "profiles", "schedulerName")
    name = wanted or (_DEFAULT if _DEFAULT in names or len(names) > 1 else names[0])
    if name not in names:
        close = nearest(name, names) or names[0]
        raise TracekitError(
            f"'{path}' has no profile '{name}'; it has: {', '.join(names)}",
            hint=f"say which one: '{path}[profile={close}]'",
        )
    return rows[names.index(name)], [one for one in names if one != name]


def _of_profile(profile: Given, percentage: int) -> Translated:
    if percentage > 100:
        raise TracekitError(f"percentageOfNodesToScore is {percentage}, expected 0 to 100")
    plugins = profile.inside("plugins")
    arguments = {}
    configs = list(profile.rows("pluginConfig"))
    _refuse_twice([one.text("name") for one in configs], f"{profile.where}.pluginConfig", "name")
    for one in configs:
        arguments[one.text("name")] = one.inside("args")
    everywhere = _merged(_ENABLED, plugins.inside("multiPoint"))
    scoring = _at_point(everywhere, plugins.inside("score"), {*SCORERS, *SILENT})
    filtering = _at_point(everywhere, plugins.inside("filter"), set(_ENABLED))
    named = {*everywhere, *scoring, *filtering}
    for point in _POINTS:
        named |= set(_at_point({}, plugins.inside(point), set()))
    found = Translated(percentage=percentage, scores=bool(scoring))
    found.parts = [
        Part(float(weight or 1), SCORERS[name](arguments.get(name) or Given({}, name)))
        for name, weight in scoring.items()
        if name in SCORERS
    ]
    found.lifted = {
        rule for rule, names in _RULES.items() if not any(name in filtering for name in names)
    }
    after = _at_point(everywhere, plugins.inside("postFilter"), {_PREEMPTION})
    found.preempts = _PREEMPTION in after
    if "Coscheduling" in named:
        given = arguments.get("Coscheduling") or Given({}, "Coscheduling")
        found.gang_wait_ms = 1000 * given.whole("permitWaitingTimeSeconds", 60)
        found.gang_backoff_ms = 1000 * given.whole("podGroupBackoffSeconds", 0)
    for name, given in arguments.items():
        given.without_effect(*_WITHOUT_EFFECT.get(name, ()))
        unused = name in SCORERS and name not in scoring
        if unused:
            given.told.append(f"{given.where} has no effect: {name} does not score")
        if unused or name not in _KNOWN_PLUGINS:
            given.ignore(*given.fields())  # the plugin is told of, its arguments need not be
    found.notes = [*_notes(scoring, filtering, named), *_off_by_mistake(plugins)]
    for point, (what, known) in _NEEDED.items():
        having = known | (everywhere.keys() - _KNOWN_PLUGINS)
        if not _at_point(everywhere, plugins.inside(point), having):
            found.notes.append(f"kube-scheduler does not start with this profile: no plugin {what}")
    return found


def _off_by_mistake(plugins: Given) -> list[str]:
    """A note on plugins that are disabled and not known: nothing is off for them."""
    points = [one for one in ("multiPoint", "score", "filter", *_POINTS) if one in plugins]
    off = {name for point in points for name in _listed(plugins.inside(point))[1]}
    strange = sorted(off - _KNOWN_PLUGINS - {"*"})
    if not strange:
        return []
    return [f"disabled and not known, so that nothing is off: {strangers(strange, _KNOWN_PLUGINS)}"]


def _notes(
    scoring: Mapping[str, int],
    filtering: Mapping[str, int],
    named: set[str],
) -> list[str]:
    """Notes on differences from the real scheduler."""
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


def _merged(defaults: Mapping[str, int], given: Given) -> dict[str, int]:
    """Default plugins, less what is disabled; one enabled again has its new weight in its place."""
    enabled, disabled = _listed(given)
    kept = {} if "*" in disabled else {n: w for n, w in defaults.items() if n not in disabled}
    return {**kept, **enabled}


def _at_point(everywhere: Mapping[str, int], given: Given, having: set[str]) -> dict[str, int]:
    """The plugins of one extension point: its own first, then those of multiPoint that have it."""
    enabled, disabled = _listed(given)
    rest = {
        name: weight
        for name, weight in everywhere.items()
        if name in having and name not in enabled and not disabled & {name, "*"}
    }
    return {**enabled, **rest}


def _listed(given: Given) -> tuple[dict[str, int], set[str]]:
    rows = list(given.rows("enabled"))
    _refuse_twice([one.text("name") for one in rows], f"{given.where}.enabled", "name")
    enabled = {one.text("name"): one.whole("weight", 0) for one in rows}
    return enabled, {one.text("name") for one in given.rows("disabled")}


def _refuse_twice(names: Sequence[str], where: str, key: str) -> None:
    """Raise TracekitError where a list names something twice, as the scheduler does."""
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise TracekitError(
            f"{where} has {key} '{twice}' twice", hint="the scheduler takes each once: leave one"
        )
