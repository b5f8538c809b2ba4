"""Reads spans in Jaeger's JSON: answers of its query service, or lines of traces or spans."""

from collections.abc import Iterator, Mapping
from typing import Any

from tracekit.intake.sources._source import Broken, Head
from tracekit.intake.sources.own._span_calls import span_source
from tracekit.intake.sources.own._spans import (
    CALLED,
    CALLING,
    Span,
    call_kind,
    called_peer,
    service_in,
)

_SIDES = {"server": CALLED, "consumer": CALLED, "client": CALLING, "producer": CALLING}
_ID_DIGITS = 16


def is_jaeger(head: Head) -> bool:
    """Return whether the file begins as JSON with ``traceID`` and ``spanID``."""
    text = head.start.decode(errors="replace").removeprefix("\ufeff").lstrip()
    named = '"traceID"' in text and ('"spanID"' in text or '"spans"' in text)
    return text[:1] in {"{", "["} and named


def _traced(value: Any, line: int) -> Iterator[Span | Broken]:
    """The spans of a trace, or a single span with its process."""
    if not isinstance(value, Mapping):
        yield Broken(table="call", line=line, reason="is no trace and no span", text=str(value))
        return
    spans = value.get("spans")
    processes = value.get("processes") or {}
    for span in spans if isinstance(spans, list) else [value]:
        yield _span(span, processes, line)


def _span(span: Any, processes: Mapping[str, Any], line: int) -> Span | Broken:
    try:
        process = span.get("process") or processes.get(span.get("processID")) or {}
        tags, about = _tags(span), _tags(process)
        trace, own = _id(span["traceID"]), _id(span["spanID"])
        start_us, duration_us = int(span["startTime"]), int(span["duration"])
        parent = _parent(span, trace)
        wrong = _wrong(start_us, duration_us)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        wrong = f"is no span: {type(error).__name__} {error}"
    if wrong is not None:
        return Broken(table="call", line=line, reason=wrong, text=str(span))
    name = span.get("operationName")
    side = _SIDES.get(str(tags.get("span.kind", "")).lower())
    return Span(
        trace=trace,
        span=own,
        parent=parent,
        service=service_in(about, process.get("serviceName")),
        side=side,
        kind=call_kind(tags),
        name=str(name) if name else None,
        peer=None if side == CALLED else called_peer(tags),
        start_ns=start_us * 1000,
        duration_ns=duration_us * 1000,
        line=line,
    )


def _tags(holder: Mapping[str, Any]) -> dict[str, object]:
    return {str(tag["key"]): tag.get("value") for tag in holder.get("tags") or ()}


def _wrong(start_us: int, duration_us: int) -> str | None:
    if start_us <= 0:
        return f"startTime is {start_us}, expected µs since 1970"
    if duration_us < 0:
        return f"duration is {duration_us}, expected 0 or more"
    return None


def _id(text: object) -> str:
    """An id with all its digits: some writers leave out the zeros in front."""
    if not isinstance(text, str) or not text:
        raise TypeError(f"id {text!r}, expected a text")
    return text.lower().zfill(_ID_DIGITS)


def _parent(span: Mapping[str, Any], trace: str) -> str | None:
    """The parent of a span in its trace: CHILD_OF, else FOLLOWS_FROM; None for a first span."""
    parents = [
        (str(one.get("refType")) != "CHILD_OF", _id(one["spanID"]))
        for one in span.get("references") or ()
        if _id(one.get("traceID") or trace) == trace
    ]
    if parents:
        return min(parents, key=lambda pair: pair[0])[1]
    older = span.get("parentSpanID")
    return _id(older) if older and str(older).strip("0") else None


JAEGER = span_source(
    name="jaeger",
    title="Spans of Jaeger in JSON (/api/traces, exports), as calls",
    url="https://www.jaegertracing.io/docs/latest/apis/",
    recognises=is_jaeger,
    spans_of=_traced,
    inferred=(
        "the position of a call: from the references of spans, and their starts",
        "the end that a span is of: span.kind, else whether its parent is of another service",
        "the type of a call, from tags: db, messaging, rpc, http, component; else rpc",
    ),
)
