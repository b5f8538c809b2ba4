"""Traces that SimKube recorded in a cluster: Deployments and the like, over time.

Facts: acrlabs/simkube, docs/ref/trace-files.md and sk-core/src/trace.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources.own._json_items import Cut
from tracekit.intake.sources.own._kubernetes.objects import Thing
from tracekit.intake.sources.own._roster.read import rows_of_things
from tracekit.intake.sources.own._roster.roster import Roster
from tracekit.intake.sources.own._simkube_pods import Pods

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
    missing_names=frozenset({""}),
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
