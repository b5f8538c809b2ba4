"""Spans in OpenTelemetry's JSON: what a collector's file exporter or Grafana Tempo writes."""

import re

from tracekit.sources._cluster import ClusterFile, ClusterSource, Head
from tracekit.sources.own._otlp_readers import read_spans

_BEGINS = re.compile(r'\s*[\[{]\s*(?:\{\s*)?"(?:resourceSpans|resource_spans|batches|trace)"\s*:')
_HOLDS = ("resourceSpans", "resource_spans", "scopeSpans", "instrumentationLibrarySpans")


def _is_spans(head: Head) -> bool:
    text = head.start.decode(errors="replace").removeprefix("\ufeff")
    return bool(_BEGINS.match(text)) and any(f'"{name}"' in text for name in _HOLDS)


SOURCE = ClusterSource(
    name="otlp",
    title="Spans of OpenTelemetry in JSON (file exporter, Grafana Tempo), as calls",
    url="https://opentelemetry.io/docs/specs/otlp/",
    missing_names=frozenset({""}),
    licence="your own",
    files=(
        ClusterFile(
            word="spans",
            title="spans of distributed traces",
            tables=("call",),
            recognises=_is_spans,
            read=read_spans,
        ),
    ),
    lacks=("nodes", "containers", "use", "calls that no span tells of"),
    inferred=(
        "a service in Kubernetes is namespace/controller, by the k8s attributes of its process",
        "the position of a call: from the parents of spans, and their starts",
        "the type of a call, from attributes: db, messaging, rpc, http; else rpc",
        "the called service where it left no span: peer.service, the database, queue or host",
    ),
    notes=(
        "times are ms since 1970 by the clock of each host; skew between hosts stays",
        "ingest all files of a trace together: a trace's calls are numbered once",
    ),
)
