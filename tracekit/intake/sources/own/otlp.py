"""Reads spans in OpenTelemetry's JSON, as a collector's file exporter or Grafana Tempo writes."""

import base64
import binascii
import re
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

_SIDES = {
    2: CALLED,
    3: CALLING,
    4: CALLING,
    5: CALLED,
    "SPAN_KIND_SERVER": CALLED,
    "SPAN_KIND_CLIENT": CALLING,
    "SPAN_KIND_PRODUCER": CALLING,
    "SPAN_KIND_CONSUMER": CALLED,
}
_RESOURCES = ("resourceSpans", "resource_spans", "batches")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_ID_DIGITS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def _document(document: Any, line: int) -> Iterator[Span | Broken]:
    if isinstance(document, Mapping) and isinstance(document.get("trace"), Mapping):
        document = document["trace"]
    resources = _listed(document, _RESOURCES)
    if resources is None:
        reason = f"has none of {', '.join(_RESOURCES)}, expected a list of spans of a resource"
        yield Broken(table="call", line=line, reason=reason, text=str(document))
        return
    for resource in resources:
        about = _attributes(resource.get("resource") or {})
        for scope in _listed(resource, _SCOPES) or ():
            for span in scope.get("spans") or ():
                yield _span(span, about, line)


def _listed(holder: Any, names: tuple[str, ...]) -> list[Any] | None:
    if isinstance(holder, Mapping):
        for name in names:
            if isinstance(holder.get(name), list):
                return [one for one in holder[name] if isinstance(one, Mapping)]
    return None


def _span(span: Mapping[str, Any], about: Mapping[str, object], line: int) -> Span | Broken:
    try:
        ids = {name: _id(span.get(name), digits) for name, digits in _ID_DIGITS.items()}
        start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        wrong = _wrong(ids, start, end)
    except (KeyError, ValueError, TypeError) as error:
        wrong = f"is no span: {type(error).__name__} {error}"
    if wrong is not None:
        return Broken(table="call", line=line, reason=wrong, text=str(span))
    tags = _attributes(span)
    side = _SIDES.get(span.get("kind") or 0)
    name = span.get("name")
    return Span(
        trace=str(ids["traceId"]),
        span=str(ids["spanId"]),
        parent=ids["parentSpanId"],
        service=service_in(about, about.get("service.name")),
        side=side,
        kind=call_kind(tags),
        name=str(name) if name else None,
        peer=None if side == CALLED else called_peer(tags),
        start_ns=start,
        duration_ns=end - start,
        line=line,
    )


def _wrong(ids: Mapping[str, str | None], start: int, end: int) -> str | None:
    if ids["traceId"] is None or ids["spanId"] is None:
        return "has no traceId or no spanId"
    if start <= 0:
        return f"startTimeUnixNano is {start}, expected ns since 1970"
    if end < start:
        return f"endTimeUnixNano is {end}, expected no earlier than startTimeUnixNano {start}"
    return None


def _id(text: object, digits: int) -> str | None:
    """An id in hex, also from the base64 of Tempo; None for an empty id or one of zeros."""
    if not text:
        return None
    if not isinstance(text, str):
        raise TypeError(f"id {text!r}, expected a text")
    if len(text) != digits and text.endswith("="):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except binascii.Error:
            raise ValueError(f"id {text!r}, expected hex or base64") from None
    text = text.lower()
    return text if text.strip("0") else None


def _attributes(holder: Mapping[str, Any]) -> dict[str, object]:
    return {
        str(one.get("key")): next(iter((one.get("value") or {}).values()), None)
        for one in holder.get("attributes") or ()
        if isinstance(one, Mapping)
    }


_BEGINS = re.compile(r'\s*[\[{]\s*(?:\{\s*)?"(?:resourceSpans|resource_spans|batches|trace)"\s*:')
_HOLDS = ("resourceSpans", "resource_spans", "scopeSpans", "instrumentationLibrarySpans")


def _is_spans(head: Head) -> bool:
    text = head.start.decode(errors="replace").removeprefix("\ufeff")
    return bool(_BEGINS.match(text)) and any(f'"{name}"' in text for name in _HOLDS)


OTLP = span_source(
    name="otlp",
    title="Spans of OpenTelemetry in JSON (file exporter, Grafana Tempo), as calls",
    url="https://opentelemetry.io/docs/specs/otlp/",
    recognises=_is_spans,
    spans_of=_document,
    inferred=(
        "the position of a call: from the parents of spans, and their starts",
        "the type of a call, from attributes: db, messaging, rpc, http; else rpc",
    ),
)
