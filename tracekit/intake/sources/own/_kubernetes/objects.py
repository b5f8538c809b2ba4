"""Reads the objects that kubectl prints: lists, single objects, watch logs; and volumes of pods.

The nodes that reach the volumes and devices of a pod become requirements of its selector. Source:
kubernetes v1.34 pkg/scheduler/framework/plugins volumebinding (spec.nodeAffinity of a bound
volume), volumezone (labels of a volume, whose value may name several zones) and dynamicresources
(status.allocation.nodeSelector of a claim for devices).
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tracekit.base.constants import ZONES
from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import Head, Opened
from tracekit.intake.sources.own._json_items import BrokenItem, first_members, items, pieces
from tracekit.store.broken_rows import NO_OBJECT, WATCH_ENDED

VOLUME, CLAIM, DEVICES = "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim"
VOLUME_KINDS = (VOLUME, CLAIM, DEVICES)
#: The separator of zones in a label of a volume.
_AND = "__"
#: Alternatives, each a list of requirements as ``matchExpressions`` has them.
Terms = Sequence[Sequence[Mapping[str, Any]]]
_EVENTS = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
_LISTS = ("List", "NodeList", "PodList")
_KINDS = ("Node", "Pod", "PodGroup", "Workload", "PodDisruptionBudget", *VOLUME_KINDS)
_METRICS_API = "metrics.k8s.io/"
#: ``kubectl get podmetrics`` prints a List whose items state their kind.
_LISTED_METRICS = re.compile(rb'"items"\s*:\s*\[\s*\{\s*"apiVersion"\s*:\s*"metrics\.k8s\.io/')


Key = tuple[str, str]


@dataclass(kw_only=True, slots=True)
class Thing:
    """An object that kubectl printed, such as a node or a pod.

    Parameters
    ----------
    number : int
        The number of the object in its file, from 1.
    event : str, optional
        In a watch log: ADDED, MODIFIED or DELETED.
    so_far_ms : int, optional
        In a watch log: the latest time that this object or an earlier one states.
    listed : bool
        Whether the object is in a list that is no page of a longer list.
    life : int, optional
        In a record without uids: which of the pods that successively had the name, from 1.

    Attributes
    ----------
    name : str
        ``namespace/name``; for a node the name alone.
    uid : str
        The uid; ``life-`` and the number if only ``life`` is given; else empty.
    key : (str, str)
        The kind, and the uid or the name: unique for each object.
    """

    number: int
    kind: str
    value: dict[str, Any]
    event: str | None
    so_far_ms: int | None = None
    listed: bool = False
    life: int | None = None
    name: str = field(init=False)
    uid: str = field(init=False)
    key: Key = field(init=False)

    def __post_init__(self) -> None:
        meta = self.value["metadata"]
        stated = str(meta.get("uid") or "")
        self.name = meta["name"] if self.kind == "Node" else full_name(meta)
        self.uid = stated or ("" if self.life is None else f"life-{self.life}")
        # a node that was made anew under its name is the same node; lives are counted by name
        own = self.uid if stated else f"{self.name}@{self.uid}"
        self.key = self.kind, own if self.uid and self.kind != "Node" else self.name


def full_name(meta: Mapping[str, Any]) -> str:
    """Return the name of an object with its namespace, ``namespace/name``."""
    return f"{meta.get('namespace') or 'default'}/{meta['name']}"


def holds_objects(head: Head) -> bool:
    """Return whether a file begins as objects that kubectl printed."""
    if holds_measurements(head):
        return False
    # jq makes an array of a list
    inside = head.start.removeprefix(b"\xef\xbb\xbf").lstrip().removeprefix(b"[")
    members = first_members(replace(head, start=inside))
    if members.get("type") in _EVENTS and "object" in members:
        return True
    if members.get("kind") in (*_LISTS, *_KINDS) or _is_refusal(members):
        return True
    return members.get("apiVersion") == "v1" and "items" in members and "kind" not in members


def _is_refusal(members: Mapping[str, Any]) -> bool:
    """Whether a document is a refusal of the API of Kubernetes."""
    return members.get("kind") == "Status" and members.get("apiVersion") == "v1"


def holds_measurements(head: Head) -> bool:
    """Return whether a file begins as an answer of metrics-server, or as kubectl prints one."""
    members = first_members(head)
    listed = members.get("kind") == "List" and _LISTED_METRICS.search(head.start)
    return bool(listed) or str(members.get("apiVersion", "")).startswith(_METRICS_API)


def things(opened: Opened, *, as_far_as_whole: bool = False) -> Iterator[Thing | BrokenItem]:
    """Yield the nodes, pods, groups, budgets and volumes of a file; skip other kinds.

    A document that is no object of Kubernetes gives a ``BrokenItem``, and so does the error that
    ends a watch.

    Parameters
    ----------
    as_far_as_whole : bool
        Whether a list that breaks off ends in a ``BrokenItem`` instead of an error.

    Raises
    ------
    TracekitError
        For a refusal of the API, and for a list that breaks off.
    """
    so_far: int | None = None
    for item in (pieces if as_far_as_whole else items)(opened):
        if isinstance(item, BrokenItem):
            yield item
            continue
        value, event = item.value, None
        if isinstance(value, dict) and value.get("type") in _EVENTS and "object" in value:
            value, event = value["object"], value["type"]
        if event == "ERROR":
            yield _watch_ended(item.number, value)
        elif isinstance(value, dict) and _is_refusal(value):
            raise _refused(opened.name, value)
        if event in ("BOOKMARK", "ERROR") or _is_empty_list(value):
            continue
        if not isinstance(value, dict) or not _is_named(value):
            yield BrokenItem(
                number=item.number,
                reason=f"{NO_OBJECT}: it has no metadata with a name",
                text=str(value),
            )
            continue
        kind = value.get("kind") or str(item.around.get("kind", "")).removesuffix("List")
        kind = kind or _by_shape(value)
        if event is not None:
            so_far = max(filter(None, (so_far, latest_ms(value))), default=None)
        if kind in _KINDS:
            yield Thing(
                number=item.number,
                kind=kind,
                value=value,
                event=event,
                so_far_ms=so_far,
                listed=event is None and _is_listed(item.around),
            )


def _is_listed(around: Mapping[str, Any]) -> bool:
    """Whether the members before the items are those of a whole list."""
    kind, meta = str(around.get("kind", "List")), around.get("metadata")
    paged = isinstance(meta, dict) and bool(meta.get("continue"))
    return bool(around) and kind.endswith("List") and not paged


def _refused(name: str, status: Mapping[str, Any]) -> TracekitError:
    reason = status.get("message") or status.get("reason") or "without a word"
    return TracekitError(
        f"{name} holds no nodes and pods; kubectl answered: {reason}",
        hint="ask again as somebody who may list nodes and pods of all namespaces",
    )


def check_not_empty(opened: Opened) -> None:
    """Raise TracekitError for a file that has no node, no pod and no broken object."""
    if not any(
        isinstance(one, BrokenItem) or one.kind in ("Node", "Pod") for one in things(opened)
    ):
        raise TracekitError(
            f"{opened.name}: the list has neither nodes nor pods: wrong context or rights?",
            hint="look with: kubectl config current-context; kubectl auth can-i list pods -A;"
            " then print it anew: kubectl get nodes,pods -A -o json",
        )


def _watch_ended(number: int, status: object) -> BrokenItem:
    message = status.get("message") if isinstance(status, dict) else None
    return BrokenItem(
        number=number,
        reason=f"{WATCH_ENDED} ({message or 'without a message'}): what changed between"
        " it and the next event is not in the log",
        text=str(status),
    )


def last_change_ms(thing: Thing) -> int:
    """Return the latest time that an object states, in ms since 1970.

    For a DELETED event without a deletion time, times of earlier events of the watch count too.
    Raises ValueError without any time.
    """
    times = [latest_ms(thing.value)]
    if thing.event == "DELETED" and not thing.value["metadata"].get("deletionTimestamp"):
        times.append(thing.so_far_ms)
    stated = [one for one in times if one is not None]
    if not stated:
        raise ValueError("is gone, and no time says since when")
    return max(stated)


def latest_ms(value: dict[str, Any]) -> int | None:
    """Return the latest readable time in an object, in ms since 1970; None if there is none."""
    meta, status = value["metadata"], value.get("status")
    status = status if isinstance(status, dict) else {}
    times = [meta.get("creationTimestamp"), meta.get("deletionTimestamp"), status.get("startTime")]
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict):
            times += [one.get("lastTransitionTime"), one.get("lastHeartbeatTime")]
    latest = before = None
    for time in times:
        # most of the times of an object are one and the same
        if time and time != before:
            before, at = time, _read_ms(str(time))
            if at and (latest is None or at > latest):
                latest = at
    return latest


def _read_ms(text: str) -> int | None:
    try:
        return time_ms(text)
    except ValueError:
        return None


@functools.lru_cache(maxsize=1 << 16)
def time_ms(text: str) -> int:
    """Parse a time of Kubernetes into ms since 1970; a time without a zone is UTC.

    Raises ValueError for a text that is no time.
    """
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"time is {str(text)[:60]!r}, expected one such as 2026-01-01T00:00:00Z"
        ) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def arrival_ms(pod: dict[str, Any]) -> int:
    """Return when a pod was created, or was scheduled if no creation is stated, in ms since 1970.

    Raises ValueError if neither time is stated.
    """
    if created := pod["metadata"].get("creationTimestamp"):
        return time_ms(created)
    status = pod.get("status") or {}
    scheduled = [
        one.get("lastTransitionTime")
        for one in status.get("conditions") or ()
        if one.get("type") == "PodScheduled"
    ]
    stated = next((one for one in (*scheduled, status.get("startTime")) if one), None)
    if stated is None:
        raise ValueError("has no creationTimestamp")
    return time_ms(stated)


def _is_empty_list(value: Any) -> bool:
    """Whether a document is an empty list that states ``items: null``."""
    if not isinstance(value, dict):
        return False
    return str(value.get("kind", "")).endswith("List") and value.get("items", "") is None


def _is_named(value: dict[str, Any]) -> bool:
    meta = value.get("metadata")
    return isinstance(meta, dict) and isinstance(meta.get("name"), str)


def _by_shape(value: dict[str, Any]) -> str:
    if "containers" in (value.get("spec") or {}):
        return "Pod"
    return "Node" if "allocatable" in (value.get("status") or {}) else ""


@dataclass(kw_only=True)
class Volumes:
    """A lookup of the volumes and devices of pods; ``note`` records what kubectl printed."""

    _devices: dict[str, Terms] = field(default_factory=dict)
    _terms: dict[str, Terms] = field(default_factory=dict)
    _bound: dict[str, str] = field(default_factory=dict)

    def note(self, value: Mapping[str, Any]) -> None:
        """Record a PersistentVolume, a PersistentVolumeClaim or a ResourceClaim."""
        meta, spec = value["metadata"], value.get("spec") or {}
        if value.get("kind") == DEVICES:
            allocated = ((value.get("status") or {}).get("allocation") or {}).get("nodeSelector")
            self._devices[full_name(meta)] = _selected(allocated or {}, [])
            return
        if value.get("kind") == CLAIM:
            if spec.get("volumeName"):
                self._bound[full_name(meta)] = str(spec["volumeName"])
            return
        self._terms[str(meta["name"])] = _terms_of(meta.get("labels") or {}, spec)
        claim = spec.get("claimRef") or {}
        if claim.get("name"):
            self._bound[full_name(claim)] = meta["name"]

    def of(self, pod: Mapping[str, Any]) -> tuple[list[Terms], bool]:
        """Return the node terms of a pod's volumes and devices, and whether a volume is unknown.

        Each volume or device has a list of alternatives, each a list of requirements on a node. A
        volume that every node reaches is left out.
        """
        devices = [self._devices.get(one) for one in _device_claims(pod)]
        names = [self._bound.get(one, "") for one in _claims(pod)]
        volumes = [self._terms[name] for name in names if name in self._terms]
        return [one for one in (*volumes, *devices) if one], len(volumes) < len(names)


def reached(alternatives: Sequence[Sequence[Any]], volumes: Sequence[Terms]) -> list[list[Any]]:
    """Return every combination of an alternative of a selector with one term of each volume.

    The requirements of a combination are those of all its parts.
    """
    combined = [list(one) for one in alternatives] or [[]]
    for terms in volumes:
        combined = [[*one, *term] for one in combined for term in terms]
    return combined


def _claims(pod: Mapping[str, Any]) -> list[str]:
    """The volume claims of a pod, ``namespace/name``."""
    meta, spec = pod["metadata"], pod["spec"]
    space = meta.get("namespace") or "default"
    claims = []
    for one in spec.get("volumes") or ():
        claim = (one.get("persistentVolumeClaim") or {}).get("claimName")
        if not claim and one.get("ephemeral"):
            claim = f"{meta['name']}-{one.get('name')}"
        if claim:
            claims.append(f"{space}/{claim}")
    return claims


def _device_claims(pod: Mapping[str, Any]) -> list[str]:
    """The device claims of a pod, ``namespace/name``; a template's claim is in the status."""
    space = pod["metadata"].get("namespace") or "default"
    stated = [
        *(pod["spec"].get("resourceClaims") or ()),
        *((pod.get("status") or {}).get("resourceClaimStatuses") or ()),
    ]
    return [f"{space}/{one['resourceClaimName']}" for one in stated if one.get("resourceClaimName")]


def _terms_of(labels: Mapping[str, str], spec: Mapping[str, Any]) -> Terms:
    required = (spec.get("nodeAffinity") or {}).get("required") or {}
    zones: list[Mapping[str, Any]] = []
    for key in ZONES:
        if key in labels and not zones:
            zones.append({"key": key, "operator": "In", "values": labels[key].split(_AND)})
    return _selected(required, zones)


def _selected(selector: Mapping[str, Any], zones: Sequence[Mapping[str, Any]]) -> Terms:
    """The terms of a selector of nodes, each with the requirements on zones."""
    stated = [
        [*zones, *(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        for term in selector.get("nodeSelectorTerms") or ()
    ]
    return stated or ([list(zones)] if zones else [])
