"""Groups the spans of distributed traces by trace, on disk where the spans are many."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tracekit.intake.sources.own._kubernetes.shape import service_of

#: The spans in memory before they are written to disk, and the number of files there.
_HELD_SPANS = 250_000
_BUCKETS = 64

CALLING, CALLED = "calling", "called"
_CACHES = {"memcached", "redis", "valkey"}


class Span(NamedTuple):
    """One span of OpenTelemetry or Jaeger, in the terms of table ``call``.

    Parameters
    ----------
    parent : str, optional
        The id of the parent span; None for the first span of a trace.
    side : {'calling', 'called', None}
        The end of the call that the span records; None where it is not stated.
    kind : {'rpc', 'http', 'mq', 'db', 'mc', None}
        The type of the call; None where it is not stated.
    peer : str, optional
        The called service, database, queue or host.
    start_ns, duration_ns : int
        The start since 1970, and the duration.
    line : int
        The number of the item in its file.
    """

    trace: str
    span: str
    parent: str | None
    service: str | None
    side: str | None
    kind: str | None
    name: str | None
    peer: str | None
    start_ns: int
    duration_ns: int
    line: int


_SCHEMA = {
    name: pl.Int64 if name in {"start_ns", "duration_ns", "line"} else pl.String
    for name in Span._fields
}


def call_kind(tags: Mapping[str, object]) -> str | None:
    """Return ``Span.kind`` for the attributes of a span."""
    store = _first(tags, _DATABASES)
    if store is not None:
        return "mc" if store.lower() in _CACHES else "db"
    if any(name.startswith("messaging.") for name in tags):
        return "mq"
    component = str(tags.get("component", "")).lower()
    if any(name.startswith("rpc.") for name in tags) or "grpc" in component:
        return "rpc"
    if "http" in component or any(name.startswith(("http.", "url.")) for name in tags):
        return "http"
    return None


def service_in(about: Mapping[str, object], name: object) -> str | None:
    """Return the service of a process: ``namespace/controller`` in Kubernetes, else ``name``.

    Parameters
    ----------
    about : mapping
        The attributes of the process.
    name : str or None
        The name that the process gives its service. It stands for the controller where the
        attributes name none.
    """
    space = about.get("k8s.namespace.name")
    controllers = [(kind, about.get(f"k8s.{kind.lower()}.name")) for kind in _CONTROLLERS]
    kind, owner = next(((kind, one) for kind, one in controllers if one), ("", name))
    if space and owner:
        return service_of(str(space), kind, str(owner))
    return str(name) if name else None


def called_peer(tags: Mapping[str, object]) -> str | None:
    """Return ``Span.peer`` for the attributes of a span; None if they name none."""
    service = _first(tags, ("peer.service", "service.peer.name"))
    if service is not None:
        return service
    for systems, names in ((_DATABASES, _NAMES), (("messaging.system",), _QUEUES)):
        system = _first(tags, systems)
        if system is not None:
            name = _first(tags, names)
            return f"{system}/{name}" if name else system
    return _first(tags, ("server.address", "net.peer.name", "http.host", "peer.hostname"))


def _first(tags: Mapping[str, object], names: Iterable[str]) -> str | None:
    for name in names:
        if tags.get(name):
            return str(tags[name])
    return None


#: Controllers of pods; an owner of another controller comes first.
_CONTROLLERS = (
    "Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job",
)  # fmt: skip
_DATABASES = ("db.system", "db.system.name", "db.type")
_NAMES = ("db.name", "db.namespace", "db.instance")
_QUEUES = ("messaging.destination.name", "messaging.destination", "message_bus.destination")


def by_trace(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Yield the spans of each trace; spans of one trace keep their order."""
    with tempfile.TemporaryDirectory(prefix="tracekit-spans-") as folder:
        held: list[Span] = []
        files: list[list[Path]] = [[] for _ in range(_BUCKETS)]
        for span in spans:
            held.append(span)
            if len(held) >= _HELD_SPANS:
                _set_down(held, Path(folder), files)
                held = []
        if not any(files):
            yield from _grouped(held)
            return
        _set_down(held, Path(folder), files)
        del held
        for bucket in files:
            parts = [pl.read_parquet(path) for path in bucket]
            if parts:
                yield from _grouped([Span(*row) for row in pl.concat(parts).iter_rows()])


def _set_down(held: list[Span], folder: Path, files: list[list[Path]]) -> None:
    frame = pl.DataFrame(held, schema=_SCHEMA, orient="row")
    bucket = (frame["trace"].hash(seed=0) % _BUCKETS).alias("bucket")
    for key, part in frame.group_by(bucket, maintain_order=True):
        at = int(str(key[0]))
        path = folder / f"{at}-{len(files[at])}.parquet"
        part.select(*_SCHEMA).write_parquet(path)
        files[at].append(path)


def _grouped(spans: list[Span]) -> Iterator[list[Span]]:
    # the sort is stable
    for _, group in groupby(sorted(spans, key=attrgetter("trace")), key=attrgetter("trace")):
        yield list(group)
