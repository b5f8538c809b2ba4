"""Traces that SimKube recorded in a cluster: Deployments and the like, over time.

Facts: acrlabs/simkube, docs/ref/trace-files.md and sk-core/src/trace.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources.own._json_items import Cut
from tracekit.intake.sources.own._kubernetes.objects import Thing
from tracekit.intake.sources.own._roster.read import rows_of_things
from tracekit.intake.sources.own._roster.roster import Roster

# Pods out of the workload objects that SimKube records: replicas, restarts, lives.
#
# A trace holds Deployments and the like at the times when they changed. Where it holds the lives of
# an object's pods, those count. Else an object has as many pods as it asks for replicas: a larger
# number adds pods, a smaller one ends the youngest, another template ends all and begins as many.


#: Where a kind keeps the template of its pods; the trace's configuration may say so, too.
_TEMPLATES = {
    "Deployment": ("/spec/template",),
    "StatefulSet": ("/spec/template",),
    "ReplicaSet": ("/spec/template",),
    "Job": ("/spec/template",),
    "CronJob": ("/spec/jobTemplate/spec/template",),
    "Pod": ("",),
}
#: Kinds whose pods nothing but recorded lives tells of, and why.
_UNTOLD = {
    "DaemonSet": "has a pod on each node, and a trace has no nodes",
    "CronJob": "runs when its schedule says, and the trace has no lives of its pods",
}


@dataclass(kw_only=True)
class _Owner:
    """An object, the changes of its specification, and its pods that are there."""

    kind: str
    name: str
    changes: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    template: str = ""
    there: list[Thing] = field(default_factory=list)
    made: int = 0
    told: bool = False
    taken: set[str]


class Pods:
    """The pods of a trace, made out while its events are read in order.

    Parameters
    ----------
    paths : mapping of str to sequence of str
        For each tracked kind (``apps/v1.Deployment``) where its pods' templates are.
    lives : mapping of (str, str) to list of (int, int or None)
        For a kind and an object (``ns/name``), starts and ends in s of its pods.
    """

    def __init__(
        self,
        paths: Mapping[str, Sequence[str]],
        lives: Mapping[tuple[str, str], list[tuple[int, int | None]]],
    ) -> None:
        self._paths = paths
        self._lives = lives
        self._owners: dict[tuple[str, str], _Owner] = {}
        #: The names of all pods: objects of two kinds may have one name.
        self._taken: set[str] = set()

    def apply(self, number: int, at_s: int, value: Any) -> Iterator[Thing | Cut]:
        """An object is now like this; yields pods that have ended, and what is wrong."""
        key = _key(value)
        if key is None:
            yield _cut(number, value, "is no object of Kubernetes: it has no kind or no name")
            return
        found = _Owner(kind=str(value["kind"]), name=key[1], taken=self._taken)
        owner = self._owners.setdefault(key, found)
        owner.changes.append((at_s, number, value))
        if key in self._lives:
            return
        templates = self._templates(key[0], value)
        if not templates or owner.kind in _UNTOLD:
            if not owner.told:
                owner.told = True
                why = _UNTOLD.get(owner.kind, "has no template of pods that the trace names")
                yield _cut(number, value, why)
            return
        try:
            wanted = _replicas(value) * len(templates)
        except ValueError as error:
            yield _cut(number, value, str(error))
            return
        written = json.dumps(templates, sort_keys=True)
        keep = min(wanted, len(owner.there)) if written == owner.template else 0
        owner.template = written
        yield from self._ended(owner, at_s, keep)
        for at in range(len(owner.there), wanted):
            template = templates[at % len(templates)]
            owner.there.append(_pod(owner, template, number, at_s))

    def delete(self, number: int, at_s: int, value: Any) -> Iterator[Thing | Cut]:
        """An object is gone; yields its pods that were there."""
        key = _key(value)
        if key is None:
            yield _cut(number, value, "is no object of Kubernetes: it has no kind or no name")
        elif key in self._owners:
            yield from self._ended(self._owners[key], at_s, 0)
            self._owners[key].template = ""

    def rest(self) -> Iterator[Thing | Cut]:
        """The pods that are there at the end, and those whose lives the trace holds."""
        for owner in self._owners.values():
            yield from owner.there
        for key, lives in self._lives.items():
            if key not in self._owners:
                yield Cut(number=0, reason="has lives of pods, and no event", text=" ".join(key))
                continue
            for start_s, end_s in sorted(lives, key=lambda life: life[0]):
                yield self._lived(self._owners[key], key, start_s, end_s)

    def _lived(
        self, owner: _Owner, key: tuple[str, str], start_s: int, end_s: int | None
    ) -> Thing | Cut:
        """A pod of a recorded life, as its object was when it started."""
        before = [one for one in owner.changes if one[0] <= start_s]
        _, number, value = before[-1] if before else owner.changes[0]
        templates = self._templates(key[0], value)
        if not templates:
            return _cut(number, value, "has no template of pods that the trace names")
        pod = _pod(owner, templates[0], number, start_s)
        return pod if end_s is None else _gone(pod, end_s)

    def _templates(self, kind: str, value: Mapping[str, Any]) -> list[dict[str, Any]]:
        usual = _TEMPLATES.get(str(value.get("kind")), ())
        paths: Sequence[str] = self._paths.get(kind) or usual
        found = [_pointed(value, path) for path in paths]
        return [one for one in found if isinstance(one, dict) and isinstance(one.get("spec"), dict)]

    def _ended(self, owner: _Owner, at_s: int, keep: int) -> Iterator[Thing]:
        ended, owner.there = owner.there[keep:], owner.there[:keep]
        for pod in ended:
            yield _gone(pod, at_s)


def _key(value: Any) -> tuple[str, str] | None:
    """Kind with its group, and name with its namespace."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict) or not meta.get("name") or not value.get("kind"):
        return None
    kind = f"{value.get('apiVersion') or 'v1'}.{value['kind']}"
    return kind, f"{meta.get('namespace') or 'default'}/{meta['name']}"


def _replicas(value: Mapping[str, Any]) -> int:
    """How many pods an object asks for; one where it does not say.

    Raises ValueError for what is no such number.
    """
    spec = value.get("spec") or {}
    name = "parallelism" if value.get("kind") == "Job" else "replicas"
    stated = None if value.get("kind") == "Pod" else spec.get(name)
    if stated is None:
        return 1
    if not isinstance(stated, int) or isinstance(stated, bool) or stated < 0:
        shown = json.dumps(stated, default=str)[:60]
        raise ValueError(f"{name} is {shown}, expected a whole number, 0 or more")
    return stated


def _pod(owner: _Owner, template: Mapping[str, Any], number: int, at_s: int) -> Thing:
    """A pod of an object, which gets the object's name and a number; a bare pod keeps its own."""
    space, name = owner.name.split("/", 1)
    bare = owner.kind == "Pod"
    called = name if bare else f"{name}-{owner.made}"
    while f"{space}/{called}" in owner.taken:
        owner.made += 1
        called = f"{name}-{owner.made}"
    owner.taken.add(f"{space}/{called}")
    meta = {
        **{key: (template.get("metadata") or {}).get(key) for key in ("labels", "annotations")},
        "name": called,
        "namespace": space,
        "creationTimestamp": _written(at_s),
        "ownerReferences": [] if bare else [{"kind": owner.kind, "name": name, "controller": True}],
    }
    value = {"kind": "Pod", "metadata": meta, "spec": template["spec"]}
    return Thing(number=number, kind="Pod", value=value, event=None)


def _gone(pod: Thing, at_s: int) -> Thing:
    meta = {**pod.value["metadata"], "deletionTimestamp": _written(at_s)}
    value = {**pod.value, "metadata": meta}
    return Thing(number=pod.number, kind="Pod", value=value, event="DELETED")


def _written(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


def _pointed(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; None where it leads nowhere."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list | tuple) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def _cut(number: int, value: Any, reason: str) -> Cut:
    return Cut(number=number, reason=reason, text=json.dumps(value, default=str)[:200])


_VERSION = 2
#: A map of a few members whose first key is version.
_PACKED = re.compile(rb"[\x80-\x8f\xde\xdf].{0,4}\xa7version", re.DOTALL)
_WRITTEN = re.compile(rb'\s*\{.*"trackedObjects"\s*:', re.DOTALL)


def is_trace(head: Head) -> bool:
    """Whether the file is called or begins like a trace of SimKube."""
    start = head.start
    if head.name.endswith(".sktrace") or _PACKED.match(start):
        return True
    return bool(_WRITTEN.match(start[:4096])) and b'"events"' in start


def read_trace(opened: Opened) -> Read:
    """Pods of the recorded objects, as containers.

    Raises
    ------
    TracekitError
        For another version, and for a file that is no whole trace.
    """
    trace = _trace(opened)
    yield from rows_of_things(_pods(trace), Roster())


def _trace(opened: Opened) -> Mapping[str, Any]:
    with opened.stream() as stream:
        data = stream.read()
    found = _unwritten(data, opened.name) if data.lstrip()[:1] == b"{" else _unpacked(data, opened)
    trace: dict[str, Any] = found if isinstance(found, dict) else {}
    version = trace.get("version", 1)
    if version != _VERSION:
        raise TracekitError(
            f"{opened.name} is a trace of SimKube's version {version}, expected {_VERSION}",
            hint="export it again with SimKube 2",
        )
    if not isinstance(trace.get("events"), list | tuple):
        raise TracekitError(f"{opened.name} has no events, expected a trace of SimKube")
    return trace


def _unwritten(data: bytes, name: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TracekitError(f"{name} is no whole JSON: {error}") from None


def _unpacked(data: bytes, opened: Opened) -> Any:
    try:
        import msgpack  # type: ignore[import-untyped,unused-ignore] # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise TracekitError(
            f"{opened.name}: traces of SimKube need the package msgpack",
            hint="pip install 'tracekit[simkube]'",
        ) from None
    try:
        # keys of the lives are pairs, which only hash as tuples
        return msgpack.unpackb(data, strict_map_key=False, use_list=False)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        said = str(error) or type(error).__name__
        raise TracekitError(f"{opened.name} is no whole trace of SimKube: {said}") from None


def _pods(trace: Mapping[str, Any]) -> Iterator[Thing | Cut]:
    tracked = (trace.get("config") or {}).get("trackedObjects") or {}
    paths = {
        kind: (about or {}).get("podSpecTemplatePaths") or () for kind, about in tracked.items()
    }
    lives, wrong = _lives(trace.get("pod_lifecycles") or {})
    yield from wrong
    pods = Pods(paths, lives)
    changes: list[_Change] = []
    for number, event in enumerate(trace["events"], start=1):
        found = _change(number, event)
        if isinstance(found, Cut):
            yield found
        else:
            changes.append(found)
    # what happened counts in order of time, however the file has it
    for at_s, number, applied, deleted in sorted(changes, key=lambda one: one[:2]):
        for value in applied:
            yield from pods.apply(number, at_s, value)
        for value in deleted:
            yield from pods.delete(number, at_s, value)
    yield from pods.rest()


#: When an event was, which one it is of the file, and what it applies and deletes.
_Change = tuple[int, int, Sequence[Any], Sequence[Any]]


def _change(number: int, event: Any) -> _Change | Cut:
    """An event, or what is wrong with it."""
    at_s = event.get("ts") if isinstance(event, dict) else None
    if not isinstance(at_s, int) or isinstance(at_s, bool) or not 0 <= at_s < 1 << 36:
        return Cut(number=number, reason="has no ts in seconds since 1970", text=str(event)[:200])
    applied, deleted = (event.get(name) or () for name in ("applied_objs", "deleted_objs"))
    if not isinstance(applied, list | tuple) or not isinstance(deleted, list | tuple):
        reason = "has applied_objs or deleted_objs that are no list"
        return Cut(number=number, reason=reason, text=str(event)[:200])
    return at_s, number, applied, deleted


_Lives = dict[tuple[str, str], list[tuple[int, int | None]]]


def _lives(recorded: Mapping[Any, Any]) -> tuple[_Lives, list[Cut]]:
    """Starts and ends of each object's pods; what is neither running nor finished apart."""
    lives: _Lives = {}
    wrong: list[Cut] = []
    for key, by_template in recorded.items():
        kind, _, name = key.partition(":") if isinstance(key, str) else (key[0], "", key[1])
        for one in (one for some in by_template.values() for one in some):
            found = _life(one)
            if found is None:
                reason = "is no life of a pod: expected Running or Finished with its times"
                wrong.append(Cut(number=0, reason=reason, text=f"{kind} {name}: {one}"[:200]))
            else:
                lives.setdefault((str(kind), str(name)), []).append(found)
    return lives, wrong


def _life(one: Any) -> tuple[int, int | None] | None:
    match one:
        case {"Finished": [int(start), int(end)]}:
            return start, end
        case {"Running": int(start)}:
            return start, None
        case _:
            return None


SOURCE = ClusterSource(
    name="simkube",
    title="Traces of SimKube: workload objects of a cluster and how they changed",
    url="https://github.com/acrlabs/simkube",
    licence="your own data; MIT for the traces in its repository",
    files=(
        ClusterFile(
            word="trace",
            title="changes of workload objects, and lives of their pods where recorded",
            tables=("container", "container_resource", "fixed_request"),
            recognises=is_trace,
            read=read_trace,
            alone=True,
        ),
    ),
    lacks=("nodes", "placement", "use", "pods of DaemonSets", "names of pods"),
    inferred=(
        "pods of an object without recorded lives: its replicas, from each change on",
        "a smaller number of replicas ends the youngest pods; another template ends all of them",
    ),
    notes=(
        "times are those of the recorder, whole seconds since 1970",
        "an object that was there when recording began comes with the first event",
        "events count in order of their ts, whatever their order in the file",
        "jobs without recorded lives never end",
    ),
)
