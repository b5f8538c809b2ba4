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
from tracekit.replay.rebalance import _descheduler_fields as fields
from tracekit.replay.rebalance._descheduler import CRITICAL, Descheduler

KIND = "DeschedulerPolicy"
_EVICTS = "DefaultEvictor"


@dataclass(frozen=True)
class Evictor:
    """Settings of every plugin.

    Parameters
    ----------
    node_fit : bool
    below : int
        Pods of this priority or a higher one stay.
    per_node : int, optional
        How many the descheduler evicts from a node at once.
    """

    node_fit: bool = False
    below: int = CRITICAL
    per_node: int | None = None


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
    most = top.whole("maxNoOfPodsToEvictPerNode", -1, least=-1)
    per_node = most if most >= 0 else None
    in_all = top.whole("maxNoOfPodsToEvictTotal", -1, least=-1)
    parts, below = readers[version](top, notes, per_node)
    top.without_effect(*fields.EVICTOR, *fields.TOP)
    top.narrows(*fields.SPARES, *fields.TOP_SPARES)
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
        "below": tuple(below),
        "per_node": per_node,
        "in_all": in_all if in_all >= 0 else None,
        "reads": frozenset().union(*(part.reads for part in parts)),
        "source": f"{path.name}, {version}",
        "notes": tuple(f"{path.name}: {note}" for note in notes),
    }


_Parts = tuple[list[RebalancePolicy], list[int]]


def _profiles(top: Given, notes: list[str], per_node: int | None) -> _Parts:
    """Plugins of all profiles, by v1alpha2, each with the priority below which pods may go."""
    parts, below, strange, off = [], [], [], []
    for profile in top.rows("profiles"):
        profile.known("name")
        arguments = {one.text("name"): one.inside("args") for one in profile.rows("pluginConfig")}
        evictor = _evictor(arguments.get(_EVICTS) or Given({}, _EVICTS), per_node)
        plugins = profile.inside("plugins")
        for point in ("deschedule", "balance"):
            names, out = _enabled(plugins.inside(point))
            off += out
            strange += [name for name in names if name not in _PLUGINS]
            known = [name for name in names if name in _PLUGINS]
            parts += [
                _part(name, arguments.get(name) or Given({}, name), evictor) for name in known
            ]
            below += [evictor.below] * len(known)
        for point in ("filter", "preevictionfilter", "sort", "presort"):
            names, _ = _enabled(plugins.inside(point))
            strange += [name for name in names if name != _EVICTS]
        for name, one in arguments.items():
            if name not in {*_PLUGINS, _EVICTS}:
                one.known(*one.fields())
    if off:
        notes.append(f"enabled and disabled at one point, and left out: {', '.join(off)}")
    _tell(strange, notes)
    return parts, below


def _enabled(point: Given) -> tuple[list[str], list[str]]:
    """The plugins of a point that are enabled, and those of them that are disabled there, too."""
    names, off = point.names("enabled"), set(point.names("disabled"))
    return [name for name in names if name not in off], [name for name in names if name in off]


def _strategies(top: Given, notes: list[str], per_node: int | None) -> _Parts:
    """Strategies that are enabled, by v1alpha1; those that deschedule first."""
    strategies = top.inside("strategies")
    found: list[tuple[bool, RebalancePolicy, int]] = []
    strange = []
    for name in strategies.fields():
        one = strategies.inside(name)
        if not one.flag("enabled"):
            one.known(*one.fields())
            continue
        params = one.inside("params")
        one.known("weight")
        params.narrows(*fields.ANY)
        evictor = _evictor(params, per_node)
        inner = params.inside(_INNER[name]) if name in _INNER else params
        if name in _PLUGINS:
            found.append((name in _BALANCING, _part(name, inner, evictor), evictor.below))
        else:
            strange.append(name)
            params.known(*params.fields())
    _tell(strange, notes)
    found.sort(key=lambda one: one[0])
    return [part for _, part, _ in found], [below for *_, below in found]


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


def _evictor(given: Given, per_node: int | None) -> Evictor:
    """Of ``DefaultEvictor``, or of the params of a strategy."""
    given.without_effect(*fields.EVICTOR)
    given.narrows(*fields.SPARES)
    threshold = given.inside("priorityThreshold")
    threshold.without_effect("name")
    below = threshold.whole("value", given.whole("thresholdPriority", CRITICAL))
    return Evictor(node_fit=given.flag("nodeFit"), below=below, per_node=per_node)


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
        evictor_limit_node=evictor.per_node,
        node_fit=evictor.node_fit,
    )


def _high(given: Given, evictor: Evictor) -> RebalancePolicy:
    modes = given.names("evictionModes")
    return _made(
        "high_node_utilization",
        thresholds=_percent(given, "thresholds"),
        number_of_nodes=given.whole("numberOfNodes", 0),
        only_thresholding_resources="OnlyThresholdingResources" in modes,
        evictor_limit_node=evictor.per_node,
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
    given.without_effect(*fields.OF_PLUGIN.get(name, ()))
    given.narrows(*fields.ANY, *fields.SPARES_OF_PLUGIN.get(name, ()))
    return _PLUGINS[name](given, evictor)


def _percent(given: Given, key: str) -> tuple[tuple[str, float], ...]:
    return tuple(given.amounts(key).items())


def _made(name: str, **values: Any) -> RebalancePolicy:
    return get_rebalancer(name)(**values)
