"""A ``DeschedulerPolicy`` as a rebalancer: its plugins, one after the other.

Source: descheduler @7d2b28bf pkg/api/v1alpha2, and v1alpha1 of 0.26 (strategies). Plugins that
deschedule come first, then plugins that balance, each in the order of the document. The notes of
the rebalancer name what tracekit leaves out.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit import parameters
from tracekit.documents.given import Given
from tracekit.documents.yaml_file import read_document
from tracekit.errors import TracekitError, strangers
from tracekit.parameters import ParameterError
from tracekit.replay.rebalance import RebalancePolicy, get_rebalancer
from tracekit.replay.rebalance._descheduler import CRITICAL, Descheduler

KIND = "DeschedulerPolicy"
_EVICTS = "DefaultEvictor"
#: Real fields that change nothing here. Of whom may go at all, as the replay has nothing of who
#: owns a pod, nor of its volumes:
_EVICTOR = (
    *("evictLocalStoragePods", "evictSystemCriticalPods", "ignorePvcPods", "evictFailedBarePods"),
    *("evictDaemonSetPods", "minReplicas", "minPodAge", "ignorePodsWithoutPDB", "nodeSelector"),
    *("labelSelector", "noEvictionPolicy", "podProtections"),
)
#: Of the whole document:
_TOP = (
    *("maxNoOfPodsToEvictPerNamespace", "evictionFailureEventNotification", "metricsCollector"),
    *("metricsProviders", "gracePeriodSeconds"),
)
#: Of every plugin, and of the params of every strategy:
_ANY = ("namespaces", "labelSelector", "evictableNamespaces", "thresholdPriorityClassName")
#: Of one plugin:
_OF_PLUGIN = {
    "PodLifeTime": (
        *("states", "podStatusPhases", "includingInitContainers"),
        "includingEphemeralContainers",
    ),
    "LowNodeUtilization": ("evictionModes",),
    "RemovePodsViolatingTopologySpreadConstraint": ("constraints", "includeSoftConstraints"),
}


@dataclass(frozen=True)
class Evictor:
    """Settings of every plugin: ``nodeFit``, and the highest priority of a pod that may go."""

    node_fit: bool = False
    below: int = CRITICAL


def descheduler(path: Path, given: Mapping[str, str]) -> RebalancePolicy:
    """The rebalancer of a file.

    Parameters
    ----------
    given : mapping
        ``interval_ms`` and ``move_downtime_ms``, which the document does not say.

    Raises
    ------
    TracekitError
        For a file that is none, of another kind, or with values that the descheduler would refuse.
    """
    document = read_document(path)
    if document.get("kind") != KIND:
        raise TracekitError(
            f"'{path}' is of kind '{document.get('kind')}', which moves nothing",
            hint=f"to rebalance: kind {KIND}; to place: --policy {path}",
        )
    try:
        attributes = _attributes(document, path)
    except ParameterError as error:
        raise TracekitError(f"'{path}': {error.what}", hint=error.hint) from error
    except TracekitError as error:
        told = error.what if str(path) in error.what else f"'{path}': {error.what}"
        raise TracekitError(told, hint=error.hint) from error
    kind = _kind(tuple(attributes.items()))
    made: RebalancePolicy = parameters.build(kind, path.name, given)
    return made


@functools.cache
def _kind(attributes: tuple[tuple[str, Any], ...]) -> Any:
    made: Any = type("Descheduler", (Descheduler,), dict(attributes))
    return dataclass(frozen=True, kw_only=True)(made)


def _attributes(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    top = Given(document, "")
    version = str(document.get("apiVersion"))
    readers = {"descheduler/v1alpha1": _strategies, "descheduler/v1alpha2": _profiles}
    if version not in readers:
        raise TracekitError(f"'{path}': apiVersion is '{version}', expected {' or '.join(readers)}")
    notes: list[str] = []
    evictor, parts = readers[version](top, notes)
    per_node = top.whole("maxNoOfPodsToEvictPerNode", -1, least=-1)
    in_all = top.whole("maxNoOfPodsToEvictTotal", -1, least=-1)
    top.without_effect(*_EVICTOR, *_TOP)
    top.check_spelling()
    if not parts:
        raise TracekitError(
            f"'{path}' enables nothing that could be replayed",
            hint=f"known: {', '.join(_PLUGINS)}",
        )
    notes += top.notes()
    unread = top.unread()
    if unread:
        notes.append(f"fields not known, and left out: {', '.join(unread)}")
    return {
        "__module__": RebalancePolicy.__module__,
        "__doc__": "Plugins of the descheduler, one after the other.",
        "parts": tuple(parts),
        "text": path.name,
        "where": str(path.resolve()),
        "document": str(path.resolve()),
        "below": evictor.below,
        "per_node": per_node if per_node >= 0 else None,
        "in_all": in_all if in_all >= 0 else None,
        "reads": frozenset().union(*(part.reads for part in parts)),
        "source": f"{path.name}, {version}",
        "notes": tuple(f"{path.name}: {note}" for note in notes),
    }


def _profiles(top: Given, notes: list[str]) -> tuple[Evictor, list[RebalancePolicy]]:
    """Plugins of all profiles, by v1alpha2."""
    evictor, parts, strange = Evictor(), [], []
    for profile in top.rows("profiles"):
        profile.known("name")
        arguments = {one.text("name"): one.inside("args") for one in profile.rows("pluginConfig")}
        given = arguments.get(_EVICTS)
        if given is not None:
            evictor = _evictor(given)
        plugins = profile.inside("plugins")
        for point in ("deschedule", "balance"):
            names = plugins.inside(point).names("enabled")
            strange += [name for name in names if name not in _PLUGINS]
            parts += [
                _part(name, arguments.get(name) or Given({}, name), evictor)
                for name in names
                if name in _PLUGINS
            ]
        for point in ("filter", "preevictionfilter", "sort", "presort"):
            names = plugins.inside(point).names("enabled")
            strange += [name for name in names if name != _EVICTS]
        for name, one in arguments.items():
            if name not in {*_PLUGINS, _EVICTS}:
                one.known(*one.fields())
    _tell(strange, notes)
    return evictor, parts


def _strategies(top: Given, notes: list[str]) -> tuple[Evictor, list[RebalancePolicy]]:
    """Strategies that are enabled, by v1alpha1; those that deschedule first."""
    strategies = top.inside("strategies")
    found: list[tuple[bool, RebalancePolicy]] = []
    strange = []
    below = CRITICAL
    for name in strategies.fields():
        one = strategies.inside(name)
        if not one.flag("enabled"):
            one.known(*one.fields())
            continue
        params = one.inside("params")
        one.known("weight")
        params.without_effect(*_ANY)
        evictor = _evictor(params)
        below = min(below, evictor.below)
        inner = params.inside(_INNER[name]) if name in _INNER else params
        if name in _PLUGINS:
            found.append((name in _BALANCING, _part(name, inner, evictor)))
        else:
            strange.append(name)
            params.known(*params.fields())
    _tell(strange, notes)
    return Evictor(below=below), [part for _, part in sorted(found, key=lambda one: one[0])]


#: Where v1alpha1 keeps the arguments of a strategy.
_INNER = {
    "LowNodeUtilization": "nodeResourceUtilizationThresholds",
    "HighNodeUtilization": "nodeResourceUtilizationThresholds",
    "PodLifeTime": "podLifeTime",
    "RemoveDuplicates": "removeDuplicates",
}


def _tell(strange: list[str], notes: list[str]) -> None:
    if strange:
        names = strangers(dict.fromkeys(strange), [*_PLUGINS, _EVICTS])
        notes.append(f"plugins that are not replayed, and left out: {names}")


def _evictor(given: Given) -> Evictor:
    """Of ``DefaultEvictor``, or of the params of a strategy."""
    given.without_effect(*_EVICTOR)
    threshold = given.inside("priorityThreshold")
    threshold.without_effect("name")
    below = threshold.whole("value", given.whole("thresholdPriority", CRITICAL))
    return Evictor(node_fit=given.flag("nodeFit"), below=below)


def _low(given: Given, evictor: Evictor) -> RebalancePolicy:
    metrics = given.inside("metricsUtilization")
    source = metrics.text("source")
    measured = metrics.flag("metricsServer") or source == "KubernetesMetrics"
    metrics.without_effect("prometheus")
    if source and not measured:
        metrics.told.append(f"{metrics.where}.source is '{source}': requests count in its place")
    limits = given.inside("evictionLimits")
    return _made(
        "low_node_utilization",
        thresholds=_percent(given, "thresholds"),
        target_thresholds=_percent(given, "targetThresholds"),
        use_deviation_thresholds=given.flag("useDeviationThresholds"),
        number_of_nodes=given.whole("numberOfNodes", 0),
        usage_source="metrics_server" if measured else "requests",
        eviction_limit_node=limits.whole("node", 0) if "node" in limits else None,
        node_fit=evictor.node_fit,
    )


def _high(given: Given, evictor: Evictor) -> RebalancePolicy:
    modes = given.names("evictionModes")
    return _made(
        "high_node_utilization",
        thresholds=_percent(given, "thresholds"),
        number_of_nodes=given.whole("numberOfNodes", 0),
        only_thresholding_resources="OnlyThresholdingResources" in modes,
        node_fit=evictor.node_fit,
    )


def _duplicates(given: Given, evictor: Evictor) -> RebalancePolicy:
    given.without_effect("excludeOwnerKinds")
    return _made("remove_duplicates", node_fit=evictor.node_fit)


def _life(given: Given, evictor: Evictor) -> RebalancePolicy:
    seconds = given.whole("maxPodLifeTimeSeconds", 86_400)
    return _made("pod_life_time", longest_ms=1000 * seconds, node_fit=evictor.node_fit)


def _spread(given: Given, evictor: Evictor) -> RebalancePolicy:
    fit = given.flag("topologyBalanceNodeFit", default=True)
    return _made(
        "remove_pods_violating_topology_spread_constraint", node_fit=fit or evictor.node_fit
    )


_PLUGINS: dict[str, Callable[[Given, Evictor], RebalancePolicy]] = {
    "LowNodeUtilization": _low,
    "HighNodeUtilization": _high,
    "RemoveDuplicates": _duplicates,
    "PodLifeTime": _life,
    "RemovePodsViolatingTopologySpreadConstraint": _spread,
}
_BALANCING = {name for name in _PLUGINS if name != "PodLifeTime"}


def _part(name: str, given: Given, evictor: Evictor) -> RebalancePolicy:
    """The rebalancer that a plugin is here."""
    given.without_effect(*_ANY, *_OF_PLUGIN.get(name, ()))
    return _PLUGINS[name](given, evictor)


def _percent(given: Given, key: str) -> tuple[tuple[str, float], ...]:
    return tuple(given.amounts(key).items())


def _made(name: str, **values: Any) -> RebalancePolicy:
    return get_rebalancer(name)(**values)
