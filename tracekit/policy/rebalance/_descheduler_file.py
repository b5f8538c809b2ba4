"""A ``DeschedulerPolicy`` as a rebalancer: its plugins, one after the other.

Source: descheduler @7d2b28bf pkg/api/v1alpha2, and v1alpha1 of 0.26 (strategies). Plugins that
deschedule come first, then plugins that balance, each in the order of the document. The notes of
the rebalancer name what tracekit leaves out.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tracekit.base import parameters
from tracekit.base.documents.given import Given
from tracekit.base.documents.yaml_file import read_document
from tracekit.base.errors import TracekitError, strangers
from tracekit.base.parameters import ParameterError
from tracekit.cluster.constraints.labels import Requirement
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._descheduler_plugins import BALANCING, INNER, PLUGINS
from tracekit.policy.rebalance._evictor import (
    Evictor,
    Scope,
    evictor_of,
    node_selector,
    scope_of,
)
from tracekit.policy.rebalance._turn import Cycle, Limits, OfCycle, Plugin, Turn
from tracekit.policy.view.snapshot import Snapshot

#: With fewer ready nodes the descheduler does nothing.
FEWEST_NODES = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """A plugin with the evictor of its profile, and the pods that it is about.

    It balances or, before all that do, deschedules.
    """

    plugin: Plugin
    balances: bool
    evictor: Evictor
    scope: Scope


class Descheduler(OfCycle):
    """Base of the rebalancer that a document makes: its plugins, and their common limits."""

    parts: ClassVar[tuple[Part, ...]]
    text: ClassVar[str]
    where: ClassVar[str]
    document: ClassVar[str]
    nodes: ClassVar[tuple[Requirement, ...]]
    per_node: ClassVar[int | None] = None
    per_namespace: ClassVar[int | None] = None
    in_all: ClassVar[int | None] = None

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """A cycle in which each plugin has its turn."""
        limits = Limits(
            per_node=self.per_node, per_namespace=self.per_namespace, in_all=self.in_all
        )
        cycle = Cycle(snapshot, limits, self.nodes)
        if cycle.listed.sum() < FEWEST_NODES:
            return cycle
        for balances in (False, True):
            for part in self.parts:
                if part.balances == balances:
                    name = type(part.plugin).__name__
                    part.plugin.run(Turn(cycle, part.evictor, name, part.scope))
            cycle.settle()
        return cycle

    def metric_samples(self) -> int:
        """As many as any of them looks back on."""
        return max((part.plugin.metric_samples() for part in self.parts), default=1)

    def spelled(self) -> Mapping[str, str]:
        """Parameters of each, under its name."""
        own = dict(super().spelled())
        for plugin in (part.plugin for part in self.parts):
            own |= {f"{plugin.name()}.{name}": value for name, value in plugin.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """All of it in one text."""
        return "+".join(part.plugin.spelled_out() for part in self.parts)

    def written_in(self) -> tuple[str, ...]:
        """The document."""
        return (self.document,)

    @classmethod
    def name(cls) -> str:
        """The file's name."""
        return cls.text

    def address(self) -> str:
        """As any process reads it."""
        return f"{self.where}{self._ending()}"

    def _ending(self) -> str:
        given = parameters.spell_all(self, defaults=False)
        return f"[{given}]" if given else ""

    def __str__(self) -> str:
        return f"{self.text}{self._ending()}"


KIND = "DeschedulerPolicy"
_EVICTS = "DefaultEvictor"


#: Limits of a cycle, and what their fields end in.
_LIMITS = {"per_node": "PerNode", "per_namespace": "PerNamespace", "in_all": "Total"}
#: Real fields of the whole document that change nothing in a replay.
_ASIDE = (
    *("evictionFailureEventNotification", "metricsCollector"),
    *("metricsProviders", "gracePeriodSeconds"),
)


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
    parts, nodes = readers[version](top, notes), node_selector(top)
    limits = {name: _most(top, f"maxNoOfPodsToEvict{of}") for name, of in _LIMITS.items()}
    top.without_effect(*_ASIDE)
    top.check_spelling()
    if not parts:
        raise TracekitError(
            f"'{path}' enables nothing that could be replayed",
            hint=f"known: {', '.join(PLUGINS)}",
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
        "nodes": nodes,
        **limits,
        "reads": frozenset().union(*(part.plugin.reads for part in parts)),
        "source": f"{path.name}, {version}",
        "notes": tuple(f"{path.name}: {note}" for note in notes),
    }


def _most(top: Given, key: str) -> int | None:
    found = top.whole(key, -1, least=-1)
    return found if found >= 0 else None


def _profiles(top: Given, notes: list[str]) -> list[Part]:
    """Plugins of all profiles, by v1alpha2, each with the evictor of its profile."""
    parts, strange, off = [], [], []
    for profile in top.rows("profiles"):
        profile.ignore("name")
        arguments = {one.text("name"): one.inside("args") for one in profile.rows("pluginConfig")}
        evictor = evictor_of(arguments.get(_EVICTS) or Given({}, _EVICTS))
        plugins = profile.inside("plugins")
        for point in ("deschedule", "balance"):
            names, out = _enabled(plugins.inside(point))
            off += out
            strange += [name for name in names if name not in PLUGINS]
            for name in names:
                if name in PLUGINS:
                    given = arguments.get(name) or Given({}, name)
                    part = _part(name, given, given, evictor, balances=point == "balance")
                    parts.append(part)
        for point in ("filter", "preevictionfilter", "sort", "presort"):
            names, _ = _enabled(plugins.inside(point))
            strange += [name for name in names if name != _EVICTS]
        for name, one in arguments.items():
            if name not in {*PLUGINS, _EVICTS}:
                one.ignore(*one.fields())
    if off:
        notes.append(f"enabled and disabled at one point, and left out: {', '.join(off)}")
    _tell(strange, notes)
    return parts


def _enabled(point: Given) -> tuple[list[str], list[str]]:
    """The plugins of a point that are enabled, and those of them that are disabled there, too."""
    names, off = point.names("enabled"), set(point.names("disabled"))
    return [name for name in names if name not in off], [name for name in names if name in off]


def _strategies(top: Given, notes: list[str]) -> list[Part]:
    """Strategies that are enabled, by v1alpha1."""
    strategies = top.inside("strategies")
    parts: list[Part] = []
    strange = []
    for name in strategies.fields():
        one = strategies.inside(name)
        if not one.flag("enabled"):
            one.ignore(*one.fields())
            continue
        params = one.inside("params")
        one.ignore("weight")
        evictor = evictor_of(params, top)
        if name in PLUGINS:
            inner = params.inside(INNER[name]) if name in INNER else params
            parts.append(_part(name, inner, params, evictor, balances=name in BALANCING))
        else:
            strange.append(name)
            params.ignore(*params.fields())
    _tell(strange, notes)
    return parts


def _tell(strange: list[str], notes: list[str]) -> None:
    if strange:
        names = strangers(dict.fromkeys(strange), [*PLUGINS, _EVICTS])
        notes.append(f"plugins that are not replayed, and left out: {names}")


def _part(name: str, given: Given, around: Given, evictor: Evictor, *, balances: bool) -> Part:
    """A plugin of its arguments; what it is about may stand around them."""
    scope = scope_of(around)
    return Part(plugin=PLUGINS[name](given), balances=balances, evictor=evictor, scope=scope)
