"""Collects the nodes and pods of all files of an ingest, and names the pods.

A pod is named ``namespace/name``. A name with several uids has several lives: the first life is
named ``namespace/name``, each later life ``namespace/name@uid``. A metric without a uid belongs to
the life that began last before the sample.
"""

import bisect
import contextlib
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from tracekit.intake.sources._rows import Places
from tracekit.intake.sources._source import Opened
from tracekit.intake.sources.own._json_items import BrokenItem
from tracekit.intake.sources.own._kubernetes import rules
from tracekit.intake.sources.own._kubernetes.listings import Listing, MergedListings, together
from tracekit.intake.sources.own._kubernetes.objects import (
    VOLUME_KINDS,
    Key,
    Thing,
    Volumes,
    arrival_ms,
    last_change_ms,
    things,
    time_ms,
)
from tracekit.intake.sources.own._kubernetes.requests import QuantityError, amount
from tracekit.intake.sources.own._kubernetes.shape import owner_of
from tracekit.intake.sources.own._kubernetes.template import Family, Template, shared_meta
from tracekit.intake.sources.own._state_metrics import State, read_state

_OBJECTS = "objects"
_FAMILIES = 1 << 14
SERIES = ("range", "text", "export")


@dataclass(kw_only=True)
class Roster:
    """What all files of one ingest say about nodes and pods, by kubectl and kube-state-metrics.

    Pods that have one name, one after another, are its lives; each is a container in the store.

    Attributes
    ----------
    nodes, pods, names : set of str
        Printed by kubectl: the names of the nodes; the uids of the pods, or their names where they
        have no uid; the names of all pods.
    sizes : dict of str to dict of str to float
        The readable cores and bytes of each node, as kubectl printed them.
    groups : dict of str to int
        The least number of pods of each PodGroup that may run.
    budgets : dict of str to dict
        The spec of each PodDisruptionBudget.
    state : State
        The records of kube-state-metrics.
    series : bool
        Whether a file has time series; they show when use begins.
    addresses : dict of str to set of str
        The nodes of each address and of each host's name.
    together : MergedListings
        The combination of several files of kubectl.
    listed_ms : int
        The latest time in any list; 0 without a list.
    over_by : dict
        For each ended pod the time of the first list that shows the end.
    ran_on : dict
        The node of each life of a pod that kubectl printed, by pod and uid.
    """

    nodes: set[str] = field(default_factory=set)
    pods: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    sizes: dict[str, dict[str, float]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    volumes: Volumes = field(default_factory=Volumes)
    state: State = field(default_factory=State)
    series: bool = False
    addresses: dict[str, set[str]] = field(default_factory=dict)
    together: MergedListings = field(default_factory=MergedListings)
    listed_ms: int = 0
    over_by: dict[Key, int] = field(default_factory=dict)
    ran_on: dict[tuple[str, str], str] = field(default_factory=dict)
    _starts: dict[str, dict[str, int]] = field(default_factory=dict)
    _named: dict[tuple[str, str], str] = field(default_factory=dict)
    _order: dict[str, tuple[list[int], list[str]]] = field(default_factory=dict)
    _families: dict[tuple[Template, bytes], Family] = field(default_factory=dict)

    def note(self, pod: str, uid: str, start_ms: int) -> None:
        """Record that the pod with this name and uid began at ``start_ms`` or before."""
        lives = self._starts.setdefault(pod, {})
        lives[uid] = min(start_ms, lives.get(uid, start_ms))

    def settle(self) -> None:
        """Name the lives: ``POD``, then ``POD@UID``. Call this once, after the last ``note``."""
        for pod, lives in self._starts.items():
            if len(lives) == 1:
                continue
            lives.pop("", None)
            order = sorted((start, uid) for uid, start in lives.items())
            names = [pod if at == 0 else f"{pod}@{uid}" for at, (_, uid) in enumerate(order)]
            self._order[pod] = [start for start, _ in order], names
            self._named |= {(pod, uid): name for (_, uid), name in zip(order, names, strict=True)}

    def container(self, pod: str, uid: str) -> str:
        """Return the name in the store of the pod with this name and uid."""
        return self._named.get((pod, uid), pod)

    def container_at(self, pod: str, time_ms: int) -> str:
        """Return the store name of a pod's life at a time; before the first life, of the first."""
        starts, names = self._order.get(pod, ([], []))
        at = bisect.bisect_right(starts, time_ms) - 1
        return names[max(at, 0)] if names else pod

    def lives(self, pod: str) -> tuple[Sequence[int], Sequence[str]]:
        """Return the start in ms and the name in the store of each life, in order of time."""
        return self._order.get(pod, ([*self._starts.get(pod, {}).values()], [pod]))

    def family(self, meta: Mapping[str, Any], of: Template) -> Family:
        """Return the cached ``Family`` of a pod with this metadata and template."""
        shared = shared_meta(meta)
        key = of, msgspec.json.encode(shared)
        if key not in self._families:
            if len(self._families) >= _FAMILIES:
                self._families.clear()
            self._families[key] = Family(shared, of, self._budgets_of(shared))
        return self._families[key]

    def _budgets_of(self, meta: Mapping[str, Any]) -> list[rules.Budget]:
        """Name and spec of the PodDisruptionBudgets of a pod."""
        space, labels = f"{meta.get('namespace') or 'default'}/", meta.get("labels") or {}
        return [
            (name, spec)
            for name, spec in sorted(self.budgets.items())
            if name.startswith(space) and rules.selects(spec.get("selector") or {}, labels)
        ]

    def node_called(self, name: str, stored: Collection[str] = ()) -> str:
        """Return the node that an exporter means by ``name``; empty if no or several nodes match.

        A node matches by its name or by an address. It also matches if one of the names is short
        and the other begins with it: ``n1`` and ``n1.example.org``. If no node is known, ``name``
        is returned.

        Parameters
        ----------
        stored : collection of str
            Nodes of files that earlier ingests took in.
        """
        every = {*self.nodes, *self.state.nodes, *stored}
        if name in every or not every:
            return name
        meant = self.addresses.get(name, set())
        if not meant:
            short = name.partition(".")[0]
            meant = {one for one in every if short == one or name == one.partition(".")[0]}
        return next(iter(meant)) if len(meant) == 1 else ""

    def places(self) -> Places:
        """Return the node of each container, from kubectl and from kube-state-metrics."""
        seen = {key: pod.node[1] for key, pod in self.state.pods.items() if pod.node[1]}
        named = [(self.container(*key), node) for key, node in {**seen, **self.ran_on}.items()]
        schema = {"container": pl.String, "node": pl.String}
        return Places([pl.DataFrame(named, schema=schema, orient="row")])

    def knows_node(self, node: str) -> bool:
        """Return whether a file describes the node, or no file describes any node."""
        described = self.nodes or self.state.nodes
        return not described or node in self.nodes or node in self.state.nodes

    def printed(self, pod: str, uid: str) -> bool:
        """Return whether kubectl printed the pod with this name and uid."""
        return uid in self.pods if uid and pod not in self.pods else pod in self.names


def roster_beside(opened: Opened, word: str) -> Roster:
    """Return the cached roster of all files of this file's source in the ingest."""
    return roster_of(files_of(opened, word))


def files_of(opened: Opened, word: str) -> "Files":
    """Return this file and all files of its source in the ingest."""
    files = {(one.path, kind): one for kind, some in opened.beside.items() for one in some}
    files.setdefault((opened.path, word), opened)
    return Files(files)


class Files:
    """The key of a cached roster: files that are equal while their paths and change times are."""

    def __init__(self, files: dict[tuple[Path, str], Opened]) -> None:
        self.files = [(word, files[path, word]) for path, word in sorted(files)]
        self._key = tuple(
            (str(one.path), word, one.path.stat().st_mtime_ns) for word, one in self.files
        )

    def series(self) -> dict[tuple[Path, str], Opened]:
        """Return the files with time series, by path and kind."""
        return {(one.path, word): one for word, one in self.files if word in SERIES}

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Files) and self._key == other._key


@functools.lru_cache(maxsize=2)
def roster_of(files: Files) -> Roster:
    """Read files, and return their roster."""
    roster = Roster()
    listings: list[Listing] = []
    alone = sum(word == _OBJECTS for word, _ in files.files) == 1
    for word, one in files.files:
        if word == _OBJECTS:
            listing = Listing(name=one.name, alone=alone)
            note_things(roster, things(one), listing)
            listings.append(listing)
        elif word in SERIES:
            roster.series = True
            read_state(roster.state, one, word)
    roster.listed_ms = max((one.time_ms for one in listings if one.lists), default=0)
    for listing in listings:
        for key, held in listing.held.items():
            if held.over:
                roster.over_by[key] = min(listing.time_ms, roster.over_by.get(key, listing.time_ms))
    if len(listings) > 1:
        roster.together = together(listings)
    for address, some in roster.state.addresses.items():
        roster.addresses.setdefault(address, set()).update(some)
    roster.state.settle()
    for pod, uid, start_ms in roster.state.lives():
        roster.note(pod, uid, start_ms)
    roster.settle()
    return roster


def note_things(
    roster: Roster, some: Iterable[Thing | BrokenItem], listing: Listing | None = None
) -> None:
    """Record objects in a roster, and nodes and pods in ``listing``; skip broken objects."""
    for thing in some:
        if isinstance(thing, BrokenItem):
            continue
        if listing is not None and thing.kind in ("Node", "Pod"):
            listing.note(thing)
        if thing.kind == "Node":
            roster.nodes.add(thing.name)
            roster.sizes[thing.name] = _sizes(thing)
            for address in _addresses(thing):
                roster.addresses.setdefault(address, set()).add(thing.name)
        elif thing.kind in ("PodGroup", "Workload"):
            with contextlib.suppress(TypeError, AttributeError):
                _note_groups(roster, thing)
        elif thing.kind in VOLUME_KINDS:
            with contextlib.suppress(TypeError, AttributeError):
                roster.volumes.note({**thing.value, "kind": thing.kind})
        elif thing.kind == rules.BUDGET:
            roster.budgets[thing.name] = thing.value.get("spec") or {}
        else:
            _note_pod(roster, thing)


def _note_groups(roster: Roster, thing: Thing) -> None:
    """Record a PodGroup, or the groups that a Workload of Kubernetes 1.35 lists."""
    spec = thing.value.get("spec") or {}
    several = {f"{thing.name}/{one.get('name')}": one for one in spec.get("podGroups") or ()}
    for name, one in (several or {thing.name: spec}).items():
        enough = rules.enough_of_group(one)
        if enough is not None:
            roster.groups[name] = enough


def _note_pod(roster: Roster, pod: Thing) -> None:
    spec = pod.value.get("spec")
    if isinstance(spec, Mapping):
        if isinstance(spec.get("nodeName"), str):
            roster.ran_on[pod.name, pod.uid] = spec["nodeName"]
        if spec.get("hostNetwork") is True:
            roster.state.on_host.add(pod.name)
    roster.pods.add(pod.uid or pod.name)
    roster.names.add(pod.name)
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        roster.note(pod.name, pod.uid, arrival_ms(pod.value))


def _addresses(node: Thing) -> list[str]:
    """The readable addresses and host names of a node."""
    stated = (node.value.get("status") or {}).get("addresses")
    listed = stated if isinstance(stated, list) else []
    addresses = [one.get("address") for one in listed if isinstance(one, Mapping)]
    return [one for one in addresses if isinstance(one, str) and one]


def _sizes(node: Thing) -> dict[str, float]:
    stated = (node.value.get("status") or {}).get("allocatable") or {}
    sizes = {}
    for what in ("cpu", "memory"):
        with contextlib.suppress(QuantityError):
            sizes[what] = amount(str(stated.get(what, "")))
    return sizes


#: Reasons of failed pods that had run. A pod with another reason, none of whose containers ran, was
#: rejected by its node.
_HAD_RUN = ("Evicted", "Terminated", "Preempting", "Shutdown", "NodeLost", "DeadlineExceeded")
_REJECTED = "rejected"
#: Conditions of a pod at its beginning.
_BEGINNINGS = ("PodScheduled", "Initialized", "PodReadyToStartContainers")


def place_ms(pod: dict[str, Any]) -> int:
    """Return when a pod was bound to its node, in ms: when scheduled, but not before its creation.

    A pod without a node and a static pod have the time of their creation.
    """
    created = arrival_ms(pod)
    if not (pod.get("spec") or {}).get("nodeName") or owner_of(pod["metadata"])[0] == "Node":
        return created
    status, scheduled = pod.get("status") or {}, None
    for one in status.get("conditions") or ():
        if (stated := one.get("lastTransitionTime")) and one.get("status") == "True":
            time = time_ms(stated)
            if scheduled is None and one.get("type") == "PodScheduled":
                scheduled = time
    if scheduled is None and (started := status.get("startTime")):
        scheduled = time_ms(started)
    return max(created, scheduled or 0)


def end_ms(thing: Thing, roster: Roster) -> int | None:
    """Return when the last container of a pod ended, in ms; None for a running pod.

    A pod that its node rejected never ran, so its end is the time of ``place_ms``. An evicted pod
    may state no end; then it is the first record of its failure, else the first list that shows it.
    """
    pod = thing.value
    status = pod.get("status") or {}
    if status.get("phase") not in ("Succeeded", "Failed"):
        return last_change_ms(thing) if thing.event == "DELETED" else None
    finished = [
        ((one.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for one in status.get("containerStatuses") or ()
    ]
    if stated := [time_ms(one) for one in finished if one]:
        return max(stated)
    if _was_rejected(status):
        return place_ms(pod)
    if later := _later(pod):
        return later
    # a record has its own time; a list may be made later than all times in it
    at_last = (
        roster.state.over_ms(thing.name, thing.uid)
        or roster.over_by.get(thing.key)
        or thing.so_far_ms
    )
    return max(at_last, place_ms(pod)) if at_last else last_change_ms(thing)


def _was_rejected(status: Mapping[str, Any]) -> bool:
    """Whether the node of an ended pod refused to run it, as for want of CPU (OutOfcpu).

    Source: kubernetes v1.34 pkg/kubelet rejectPod, which states a reason and no container.
    """
    if status.get("phase") != "Failed" or not status.get("reason"):
        return False
    states = [
        one.get(name) or {}
        for one in status.get("containerStatuses") or ()
        for name in ("state", "lastState")
    ]
    if any(one.get("running") or one.get("terminated") for one in states):
        return False
    message = str(status.get("message") or "").casefold()
    return status["reason"] not in _HAD_RUN or _REJECTED in message


def _later(pod: dict[str, Any]) -> int | None:
    """The latest time after its beginning that an ended pod states; None without one."""
    conditions = [
        (str(one.get("type")), time_ms(one["lastTransitionTime"]))
        for one in (pod.get("status") or {}).get("conditions") or ()
        if one.get("lastTransitionTime")
    ]
    if evicted := [time for kind, time in conditions if kind == "DisruptionTarget"]:
        return max(evicted)
    status = pod.get("status") or {}
    began = [time for kind, time in conditions if kind in _BEGINNINGS]
    began += [time_ms(status["startTime"])] if status.get("startTime") else []
    deleted = pod["metadata"].get("deletionTimestamp")
    others = [time for kind, time in conditions if kind not in _BEGINNINGS]
    others += [time_ms(deleted)] if deleted else []
    return max((one for one in others if one > max(began, default=0)), default=None)
