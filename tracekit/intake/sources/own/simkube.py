"""Traces that SimKube recorded in a cluster: Deployments and the like, over time.

A trace holds each workload object at the times when the object changed. The pods of an object are
its recorded lives where the trace has them. Otherwise an object has as many pods as it asks for
replicas: a larger number adds pods, a smaller number ends the youngest pods, and another template
ends all pods and begins as many.

Facts: acrlabs/simkube, docs/ref/trace-files.md and sk-core/src/trace.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources.own._json_items import BrokenItem
from tracekit.intake.sources.own._kubernetes.objects import Thing, full_name
from tracekit.intake.sources.own._roster import Roster
from tracekit.intake.sources.own._roster_read import rows_of_things

_VERSION = 2
#: Where each kind has the template of its pods, unless the trace names other places.
_TEMPLATES: Mapping[str, Sequence[str]] = {
    "Deployment": ("/spec/template",),
    "StatefulSet": ("/spec/template",),
    "ReplicaSet": ("/spec/template",),
    "Job": ("/spec/template",),
    "CronJob": ("/spec/jobTemplate/spec/template",),
    "Pod": ("",),
}
#: Kinds whose number of pods a trace states only as recorded lives.
_ONLY_LIVES = ("DaemonSet", "CronJob")
#: A msgpack map of a few members whose first key is ``version``.
_PACKED = re.compile(rb"[\x80-\x8f\xde\xdf].{0,4}\xa7version", re.DOTALL)
_WRITTEN = re.compile(rb'\s*\{.*"trackedObjects"\s*:', re.DOTALL)

#: The kind with its group (``apps/v1.Deployment``) and the name (``ns/name``) of an object.
_Key = tuple[str, str]
#: Start and end of pods in s; the end is None while the pod runs.
_Lives = dict[_Key, list[tuple[int, int | None]]]
#: Time in s, number in the file, and the applied and deleted objects of an event.
_Event = tuple[int, int, Sequence[Any], Sequence[Any]]


class _WrongError(ValueError):
    """What is wrong with an object."""


@dataclass(kw_only=True)
class _Owner:
    """A workload object: the changes of its specification, and its present pods."""

    key: _Key
    kind: str
    changes: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    template: str = ""
    pods: list[Thing] = field(default_factory=list)


class _Pods:
    """Makes the pods of a trace while its events are read in order of time.

    Parameters
    ----------
    paths : mapping of str to sequence of str
        For each kind (``apps/v1.Deployment``) the JSON pointers to the templates of its pods.
    lives : mapping
        The recorded lives of the pods of each object.
    """

    def __init__(self, paths: Mapping[str, Sequence[str]], lives: _Lives) -> None:
        self._paths, self._lives = paths, lives
        self._owners: dict[_Key, _Owner] = {}
        #: Names of all pods so far: objects of two kinds may have one name.
        self._taken: set[str] = set()

    def apply(self, number: int, at_s: int, value: Any) -> Iterator[Thing]:
        """Take the new state of an object, and yield its pods that end.

        Raises _WrongError for an object whose pods cannot be counted.
        """
        key = _key(value)
        owner = self._owners.setdefault(key, _Owner(key=key, kind=str(value["kind"])))
        owner.changes.append((at_s, number, value))
        if key in self._lives:
            return
        if owner.kind in _ONLY_LIVES:
            raise _WrongError(f"is a {owner.kind} without recorded lives of its pods")
        templates = self._templates(key[0], value)
        pods = _replicas(value) * len(templates)
        template = json.dumps(templates, sort_keys=True)
        stay = min(pods, len(owner.pods)) if template == owner.template else 0
        owner.template = template
        yield from self._end(owner, at_s, stay)
        for at in range(len(owner.pods), pods):
            owner.pods.append(self._pod(owner, templates[at % len(templates)], number, at_s))

    def delete(self, at_s: int, value: Any) -> Iterator[Thing]:
        """End all pods of an object, and yield them; raises _WrongError for no object."""
        owner = self._owners.get(_key(value))
        if owner is not None:
            yield from self._end(owner, at_s, 0)
            owner.template = ""

    def rest(self) -> Iterator[Thing | BrokenItem]:
        """The pods that are running at the end of the trace, and the pods of recorded lives."""
        for owner in self._owners.values():
            yield from owner.pods
        for key, lives in self._lives.items():
            owner_of_lives = self._owners.get(key)
            if owner_of_lives is None:
                yield BrokenItem(
                    number=0, reason="has lives of pods, and no event", text=" ".join(key)
                )
                continue
            for start_s, end_s in sorted(lives, key=lambda life: life[0]):
                # the object as it was when the pod started
                states = [one for one in owner_of_lives.changes if one[0] <= start_s]
                _, number, value = states[-1] if states else owner_of_lives.changes[0]
                try:
                    template = self._templates(key[0], value)[0]
                except _WrongError as error:
                    yield _cut(number, value, str(error))
                    continue
                pod = self._pod(owner_of_lives, template, number, start_s)
                yield pod if end_s is None else _ended(pod, end_s)

    def _templates(self, kind: str, value: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The templates of an object's pods; raises _WrongError without any."""
        paths = self._paths.get(kind) or _TEMPLATES.get(str(value.get("kind")), ())
        templates = [_at_pointer(value, path) for path in paths]
        with_spec = [
            one for one in templates if isinstance(one, dict) and isinstance(one.get("spec"), dict)
        ]
        if not with_spec:
            raise _WrongError("has no template of pods that the trace names")
        return with_spec

    def _end(self, owner: _Owner, at_s: int, stay: int) -> Iterator[Thing]:
        """End all pods of an object but the oldest ``stay``."""
        ended, owner.pods = owner.pods[stay:], owner.pods[:stay]
        for pod in ended:
            yield _ended(pod, at_s)

    def _pod(self, owner: _Owner, template: Mapping[str, Any], number: int, at_s: int) -> Thing:
        """A pod of an object, named by the object and a number; a bare pod keeps its name."""
        space, name = owner.key[1].split("/", 1)
        bare, at, pod_name = owner.kind == "Pod", 0, name
        if not bare:
            pod_name = f"{name}-0"
        while f"{space}/{pod_name}" in self._taken:
            at += 1
            pod_name = f"{name}-{at}"
        self._taken.add(f"{space}/{pod_name}")
        owners = [] if bare else [{"kind": owner.kind, "name": name, "controller": True}]
        meta = {
            **{key: (template.get("metadata") or {}).get(key) for key in ("labels", "annotations")},
            "name": pod_name,
            "namespace": space,
            "creationTimestamp": _rfc3339(at_s),
            "ownerReferences": owners,
        }
        value = {"kind": "Pod", "metadata": meta, "spec": template["spec"]}
        return Thing(number=number, kind="Pod", value=value, event=None)


def _key(value: Any) -> _Key:
    """Kind with group, and name with namespace; raises _WrongError for no object."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict) or not meta.get("name") or not value.get("kind"):
        raise _WrongError("is no object of Kubernetes: it has no kind or no name")
    kind = f"{value.get('apiVersion') or 'v1'}.{value['kind']}"
    return kind, full_name(meta)


def _replicas(value: Mapping[str, Any]) -> int:
    """The number of pods that an object asks for, 1 where it states none.

    Raises _WrongError for a value that is no whole number from 0 on.
    """
    spec = value.get("spec") or {}
    name = "parallelism" if value.get("kind") == "Job" else "replicas"
    stated = None if value.get("kind") == "Pod" else spec.get(name)
    if stated is None:
        return 1
    if not isinstance(stated, int) or isinstance(stated, bool) or stated < 0:
        shown = json.dumps(stated, default=str)[:60]
        raise _WrongError(f"{name} is {shown}, expected a whole number, 0 or more")
    return stated


def _ended(pod: Thing, at_s: int) -> Thing:
    """The pod with its end."""
    meta = {**pod.value["metadata"], "deletionTimestamp": _rfc3339(at_s)}
    value = {**pod.value, "metadata": meta}
    return Thing(number=pod.number, kind="Pod", value=value, event="DELETED")


def _rfc3339(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


def _at_pointer(value: Any, pointer: str) -> Any:
    """The value at a JSON pointer through objects; None where nothing is."""
    for name in pointer.split("/")[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _cut(number: int, value: Any, reason: str) -> BrokenItem:
    return BrokenItem(number=number, reason=reason, text=json.dumps(value, default=str))


def is_trace(head: Head) -> bool:
    """Return whether the name or the first bytes of a file are those of a trace of SimKube."""
    start = head.start
    if head.name.endswith(".sktrace") or _PACKED.match(start):
        return True
    return bool(_WRITTEN.match(start[:4096])) and b'"events"' in start


def read_trace(opened: Opened) -> Read:
    """Yield the pods of the recorded objects, as containers.

    Raises
    ------
    TracekitError
        For a version other than 2, and for an incomplete trace.
    """
    trace = _trace(opened)
    yield from rows_of_things(_pods(trace), Roster())


def _trace(opened: Opened) -> Mapping[str, Any]:
    with opened.stream() as stream:
        data = stream.read()
    document = _decoded(data, opened.name)
    trace: dict[str, Any] = document if isinstance(document, dict) else {}
    version = trace.get("version", 1)
    if version != _VERSION:
        raise TracekitError(
            f"{opened.name} is a trace of SimKube's version {version}, expected {_VERSION}",
            hint="export it again with SimKube 2",
        )
    if not isinstance(trace.get("events"), list | tuple):
        raise TracekitError(f"{opened.name} has no events, expected a trace of SimKube")
    return trace


def _decoded(data: bytes, name: str) -> Any:
    """The document of a trace, in msgpack or in JSON."""
    try:
        if data.lstrip()[:1] == b"{":
            return json.loads(data)
        import msgpack  # type: ignore[import-untyped,unused-ignore] # noqa: PLC0415 - an extra

        # keys of the lives are pairs, which only hash as tuples
        return msgpack.unpackb(data, strict_map_key=False, use_list=False)
    except ModuleNotFoundError:
        raise TracekitError(
            f"{name}: traces of SimKube need the package msgpack",
            hint="pip install 'tracekit[simkube]'",
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise TracekitError(f"{name} is no whole trace of SimKube: {reason}") from None


def _pods(trace: Mapping[str, Any]) -> Iterator[Thing | BrokenItem]:
    tracked = (trace.get("config") or {}).get("trackedObjects") or {}
    paths = {
        kind: (about or {}).get("podSpecTemplatePaths") or () for kind, about in tracked.items()
    }
    lives, wrong = _lives(trace.get("pod_lifecycles") or {})
    yield from wrong
    pods = _Pods(paths, lives)
    events: list[_Event] = []
    for number, event in enumerate(trace["events"], start=1):
        read = _event(number, event)
        if isinstance(read, BrokenItem):
            yield read
        else:
            events.append(read)
    # events count in order of time, whatever their order in the file
    for at_s, number, applied, deleted in sorted(events, key=lambda one: one[:2]):
        for value in (*applied, *deleted):
            gone = any(value is one for one in deleted)
            try:
                ended = pods.delete(at_s, value) if gone else pods.apply(number, at_s, value)
                yield from ended
            except _WrongError as error:
                yield _cut(number, value, str(error))
    yield from pods.rest()


def _event(number: int, event: Any) -> _Event | BrokenItem:
    """An event, or the fault of an event."""
    at_s = event.get("ts") if isinstance(event, dict) else None
    if not isinstance(at_s, int) or isinstance(at_s, bool) or not 0 <= at_s < 1 << 36:
        return BrokenItem(number=number, reason="has no ts in seconds since 1970", text=str(event))
    applied, deleted = (event.get(name) or () for name in ("applied_objs", "deleted_objs"))
    if not isinstance(applied, list | tuple) or not isinstance(deleted, list | tuple):
        reason = "has applied_objs or deleted_objs that are no list"
        return BrokenItem(number=number, reason=reason, text=str(event))
    return at_s, number, applied, deleted


def _lives(recorded: Mapping[Any, Any]) -> tuple[_Lives, list[BrokenItem]]:
    """The lives of each object's pods, and the entries that are no life."""
    lives: _Lives = {}
    wrong: list[BrokenItem] = []
    for key, by_template in recorded.items():
        kind, _, name = key.partition(":") if isinstance(key, str) else (key[0], "", key[1])
        of_object = lives.setdefault((str(kind), str(name)), [])
        for one in (one for some in by_template.values() for one in some):
            match one:
                case {"Finished": [int(start_s), int(end_s)]}:
                    of_object.append((start_s, end_s))
                case {"Running": int(start_s)}:
                    of_object.append((start_s, None))
                case _:
                    reason = "is no life of a pod: expected Running or Finished with its times"
                    wrong.append(BrokenItem(number=0, reason=reason, text=f"{kind} {name}: {one}"))
    return {key: some for key, some in lives.items() if some}, wrong


SIMKUBE = ClusterSource(
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
