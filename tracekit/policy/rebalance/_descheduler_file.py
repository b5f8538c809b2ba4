"""A ``DeschedulerPolicy`` as a rebalancer: its plugins, one after the other.

Source: descheduler @7d2b28bf pkg/api/v1alpha2, and v1alpha1 of 0.26 (strategies). Plugins that
deschedule come first, then plugins that balance, each in the order of the document. The notes of
the rebalancer name what tracekit leaves out.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import msgspec
from msgspec import UNSET

from tracekit.base import parameters
from tracekit.base.documents import Fields, NoEffect, Reading, decode, read_document
from tracekit.base.errors import TracekitError, strangers
from tracekit.base.parameters import ParameterError
from tracekit.cluster.constraints.labels import Requirement
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._descheduler_plugins import BALANCING, INNER, PLUGINS
from tracekit.policy.rebalance._evictor import (
    Evictor,
    EvictorArgs,
    Protecting,
    Scope,
    Scoped,
    Texts,
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
_Anything = dict[str, Any]


class _Point(Fields, frozen=True):
    enabled: Texts = ()
    disabled: Texts = ()


class _Config(Fields, frozen=True):
    name: str = ""
    args: _Anything = msgspec.field(default_factory=dict)


_PointName = Literal["deschedule", "balance", "filter", "preevictionfilter", "sort", "presort"]


class _Profile(Fields, frozen=True):
    name: str = ""
    plugin_config: tuple[_Config, ...] = ()
    plugins: dict[_PointName, _Point] = msgspec.field(default_factory=dict)


class _Strategy(Fields, frozen=True):
    enabled: bool = False
    weight: Any = None
    params: _Anything = msgspec.field(default_factory=dict)


class _Document(Protecting, frozen=True):
    """Both versions: v1alpha2 has profiles, v1alpha1 strategies."""

    profiles: tuple[_Profile, ...] = ()
    strategies: dict[str, _Strategy] = msgspec.field(default_factory=dict)
    max_no_of_pods_to_evict_per_node: int | None = None
    max_no_of_pods_to_evict_per_namespace: int | None = None
    max_no_of_pods_to_evict_total: int | None = None
    eviction_failure_event_notification: NoEffect = UNSET
    metrics_collector: NoEffect = UNSET
    metrics_providers: NoEffect = UNSET
    grace_period_seconds: NoEffect = UNSET


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
    version = str(document.get("apiVersion"))
    readers = {"descheduler/v1alpha1": _of_strategies, "descheduler/v1alpha2": _of_profiles}
    if version not in readers:
        raise TracekitError(f"'{path}': apiVersion is '{version}', expected {' or '.join(readers)}")
    reading = Reading()
    top = decode(document, _Document, "", reading)
    parts = readers[version](top, reading)
    reading.check()
    if not parts:
        raise TracekitError(
            f"'{path}' enables nothing that could be replayed",
            hint=f"known: {', '.join(PLUGINS)}",
        )
    return {
        "__module__": RebalancePolicy.__module__,
        "__doc__": "Plugins of the descheduler, one after the other.",
        "parts": tuple(parts),
        "text": path.name,
        "where": str(path.resolve()),
        "document": str(path.resolve()),
        "nodes": top.nodes,
        "per_node": _most(top.max_no_of_pods_to_evict_per_node),
        "per_namespace": _most(top.max_no_of_pods_to_evict_per_namespace),
        "in_all": _most(top.max_no_of_pods_to_evict_total),
        "reads": frozenset().union(*(part.plugin.reads for part in parts)),
        "source": f"{path.name}, {version}",
        "notes": tuple(f"{path.name}: {note}" for note in reading.notes),
    }


def _most(stated: int | None) -> int | None:
    """A limit; one below 0 is none."""
    return None if stated is None or stated < 0 else stated


def _of_profiles(top: _Document, reading: Reading) -> list[Part]:
    """Plugins of all profiles, by v1alpha2, each with the evictor of its profile."""
    parts, strange, off = [], [], []
    for at, profile in enumerate(top.profiles):
        paths = {
            one.name: (f"profiles[{at}].pluginConfig[{row}].args", one.args)
            for row, one in enumerate(profile.plugin_config)
        }
        where, values = paths.pop(_EVICTS, (_EVICTS, {}))
        evictor = decode(values, EvictorArgs, where, reading).evictor()
        made = {
            name: decode(args, PLUGINS[name].kind, path, reading)
            for name, (path, args) in paths.items()
            if name in PLUGINS
        }
        reading.check()
        for point in get_args(_PointName):
            names = profile.plugins.get(point, _Point())
            off += [name for name in names.enabled if name in names.disabled]
            moving = point in ("deschedule", "balance")
            for name in (one for one in names.enabled if one not in names.disabled):
                if name not in (PLUGINS if moving else (_EVICTS,)):
                    strange.append(name)
                elif moving:
                    given = made.get(name) or decode({}, PLUGINS[name].kind, name)
                    parts.append(_part(name, given, evictor, balances=point == "balance"))
    if off:
        reading.notes.append(f"enabled and disabled at one point, and left out: {', '.join(off)}")
    _tell(strange, reading)
    return parts


def _of_strategies(top: _Document, reading: Reading) -> list[Part]:
    """Strategies that are enabled, by v1alpha1."""
    parts: list[Part] = []
    on = {name: one.params for name, one in top.strategies.items() if one.enabled}
    own = {field.encode_name for field in msgspec.structs.fields(EvictorArgs)} - {"labelSelector"}
    for name in (one for one in on if one in PLUGINS):
        where, params = f"strategies.{name}.params", on[name]
        spares = {key: value for key, value in params.items() if key in own}
        rest = {key: value for key, value in params.items() if key not in own}
        inner = rest.pop(INNER[name], None) or {} if name in INNER else rest
        about = decode(rest, Scoped, where, reading) if name in INNER else None
        path = f"{where}.{INNER[name]}" if name in INNER else where
        given = decode(inner, PLUGINS[name].kind, path, reading)
        evictor = decode(spares, EvictorArgs, where, reading).evictor(top)
        reading.check()
        parts.append(_part(name, given, evictor, about=about, balances=name in BALANCING))
    _tell([name for name in on if name not in PLUGINS], reading)
    return parts


def _tell(strange: list[str], reading: Reading) -> None:
    if strange:
        names = strangers(dict.fromkeys(strange), [*PLUGINS, _EVICTS])
        reading.notes.append(f"plugins that are not replayed, and left out: {names}")


def _part(
    name: str, given: Scoped, evictor: Evictor, *, about: Scoped | None = None, balances: bool
) -> Part:
    """A plugin of its arguments, which say what it is about where nothing around them does."""
    return Part(
        plugin=PLUGINS[name].built(given),
        balances=balances,
        evictor=evictor,
        scope=(about or given).scope,
    )
