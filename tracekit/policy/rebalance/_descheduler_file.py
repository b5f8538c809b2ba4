"""A ``DeschedulerPolicy`` file as a rebalancer that runs the plugins of the file in turn.

Source: descheduler @7d2b28bf pkg/api/v1alpha2. Plugins that deschedule run first, then plugins that
balance, each in the order of the file. The notes of the rebalancer name each setting of the file
that tracekit leaves out.
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
from tracekit.policy.rebalance._descheduler_plugins import PLUGINS
from tracekit.policy.rebalance._evictor import (
    Evictor,
    EvictorArgs,
    Scope,
    Texts,
    node_requirements,
)
from tracekit.policy.rebalance._turn import Cycle, Limits, OfCycle, Plugin, PluginRun
from tracekit.policy.view.snapshot import Snapshot

#: With fewer ready nodes the descheduler does nothing.
FEWEST_NODES = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """One plugin of a ``DeschedulerPolicy`` file, its filter of pods and its profile's evictor.

    Parameters
    ----------
    balances : bool
        Whether the plugin is enabled at the extension point ``balance``, and not ``deschedule``.
    """

    plugin: Plugin
    balances: bool
    evictor: Evictor
    scope: Scope


class Descheduler(OfCycle):
    """Base of a rebalance policy that runs the plugins of one ``DeschedulerPolicy`` file."""

    parts: ClassVar[tuple[Part, ...]]
    text: ClassVar[str]
    where: ClassVar[str]
    document: ClassVar[str]
    nodes: ClassVar[tuple[Requirement, ...]]
    per_node: ClassVar[int | None] = None
    per_namespace: ClassVar[int | None] = None
    in_all: ClassVar[int | None] = None

    def cycle(self, snapshot: Snapshot) -> Cycle:
        """Run the plugins of the file on a snapshot, and return the state of the cycle."""
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
                    part.plugin.run(PluginRun(cycle, part.evictor, name, part.scope))
            cycle.settle()
        return cycle

    def metric_samples(self) -> int:
        """Return how many of the newest samples of node use the plugins read at most."""
        return max((part.plugin.metric_samples() for part in self.parts), default=1)

    def spelled(self) -> Mapping[str, str]:
        """Return each parameter's value as text by name; those of a plugin are ``plugin.name``."""
        own = dict(super().spelled())
        for plugin in (part.plugin for part in self.parts):
            own |= {f"{plugin.name()}.{name}": value for name, value in plugin.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """Return the name and all parameters of each plugin, joined by ``+``."""
        return "+".join(part.plugin.spelled_out() for part in self.parts)

    def written_in(self) -> tuple[str, ...]:
        """Return a tuple with the absolute path of the file."""
        return (self.document,)

    @classmethod
    def name(cls) -> str:
        """Return the policy's name, which is that of the file without its folder."""
        return cls.text

    def address(self) -> str:
        """Return the file's absolute path and changed parameters, ``/a/b.yaml[interval_ms=10]``."""
        return f"{self.where}{self._ending()}"

    def _ending(self) -> str:
        given = parameters.spell_all(self, defaults=False)
        return f"[{given}]" if given else ""

    def __str__(self) -> str:
        return f"{self.text}{self._ending()}"


KIND = "DeschedulerPolicy"
VERSION = "descheduler/v1alpha2"
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


class _Document(Fields, frozen=True):
    node_selector: str = ""
    profiles: tuple[_Profile, ...] = ()
    max_no_of_pods_to_evict_per_node: int | None = None
    max_no_of_pods_to_evict_per_namespace: int | None = None
    max_no_of_pods_to_evict_total: int | None = None
    eviction_failure_event_notification: NoEffect = UNSET
    metrics_collector: NoEffect = UNSET
    metrics_providers: NoEffect = UNSET
    grace_period_seconds: NoEffect = UNSET


def descheduler(path: Path, given: Mapping[str, str]) -> RebalancePolicy:
    """Return the rebalance policy that a ``DeschedulerPolicy`` file describes.

    Parameters
    ----------
    given : mapping of str to str
        ``interval_ms`` and ``move_downtime_ms``, which such a file does not state.

    Raises
    ------
    TracekitError
        For a file that cannot be read, is of another kind, or has values that the descheduler would
        refuse.
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
        what = error.what if str(path) in error.what else f"'{path}': {error.what}"
        raise TracekitError(what, hint=error.hint) from error
    kind = _kind(tuple(attributes.items()))
    made: RebalancePolicy = parameters.build(kind, path.name, given)
    return made


@functools.cache
def _kind(attributes: tuple[tuple[str, Any], ...]) -> Any:
    made: Any = type("Descheduler", (Descheduler,), dict(attributes))
    return dataclass(frozen=True, kw_only=True)(made)


def _attributes(document: Mapping[str, Any], path: Path) -> dict[str, Any]:
    version = str(document.get("apiVersion"))
    if version != VERSION:
        raise TracekitError(f"'{path}': apiVersion is '{version}', expected {VERSION}")
    reading = Reading()
    top = decode(document, _Document, "", reading)
    parts = _of_profiles(top, reading)
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
        "nodes": node_requirements(top.node_selector),
        "per_node": _most(top.max_no_of_pods_to_evict_per_node),
        "per_namespace": _most(top.max_no_of_pods_to_evict_per_namespace),
        "in_all": _most(top.max_no_of_pods_to_evict_total),
        "reads": frozenset().union(*(part.plugin.reads for part in parts)),
        "source": f"{path.name}, {version}",
        "notes": tuple(f"{path.name}: {note}" for note in reading.notes),
    }


def _most(stated: int | None) -> int | None:
    """A limit; None for a limit below 0."""
    return None if stated is None or stated < 0 else stated


def _of_profiles(top: _Document, reading: Reading) -> list[Part]:
    """The plugins of all profiles, each with the evictor of its profile."""
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
                    parts.append(
                        Part(
                            plugin=PLUGINS[name].built(given),
                            balances=point == "balance",
                            evictor=evictor,
                            scope=given.scope,
                        )
                    )
    if off:
        reading.notes.append(f"enabled and disabled at one point, and left out: {', '.join(off)}")
    _note_strangers(strange, reading)
    return parts


def _note_strangers(strange: list[str], reading: Reading) -> None:
    if strange:
        names = strangers(dict.fromkeys(strange), [*PLUGINS, _EVICTS])
        reading.notes.append(f"plugins that are not replayed, and left out: {names}")
