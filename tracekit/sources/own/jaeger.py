"""Spans in Jaeger's JSON: what its query service answers, or lines of traces or spans."""

from tracekit.sources._cluster import ClusterFile, ClusterSource
from tracekit.sources.own._jaeger_readers import is_jaeger, read_spans

SOURCE = ClusterSource(
    name="jaeger",
    title="Spans of Jaeger in JSON (/api/traces, exports), as calls",
    url="https://www.jaegertracing.io/docs/latest/apis/",
    missing_names=frozenset({""}),
    licence="your own",
    files=(
        ClusterFile(
            word="spans",
            title="spans of distributed traces",
            tables=("call",),
            recognises=is_jaeger,
            read=read_spans,
        ),
    ),
    lacks=("nodes", "containers", "use", "calls that no span tells of"),
    inferred=(
        "a service in Kubernetes is namespace/controller, by the k8s attributes of its process",
        "the position of a call: from the references of spans, and their starts",
        "the end that a span is of: span.kind, else whether its parent is of another service",
        "the type of a call, from tags: db, messaging, rpc, http, component; else rpc",
        "the called service where it left no span: peer.service, the database, queue or host",
    ),
    notes=(
        "times are ms since 1970 by the clock of each host; skew between hosts stays",
        "ingest all files of a trace together: a trace's calls are numbered once",
    ),
)
