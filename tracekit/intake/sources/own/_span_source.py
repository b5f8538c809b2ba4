"""A source of spans of distributed traces, which are read as calls."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tracekit.intake.sources._cluster import Broken, ClusterFile, ClusterSource, Head, Opened, Read
from tracekit.intake.sources._parts import Parts
from tracekit.intake.sources.own._span_calls import call_rows
from tracekit.intake.sources.own._spans import Span

_WORD = "spans"


def span_source(
    *,
    name: str,
    title: str,
    url: str,
    recognises: Callable[[Head], bool],
    spans_of: Callable[[Opened], Iterable[Span | Broken]],
    inferred: tuple[str, ...],
) -> ClusterSource:
    """A source of spans: what is read of a file of them, and what all such sources say."""
    return ClusterSource(
        name=name,
        title=title,
        url=url,
        missing_names=frozenset({""}),
        licence="your own",
        files=(
            ClusterFile(
                word=_WORD,
                title="spans of distributed traces",
                tables=("call",),
                recognises=recognises,
                read=partial(_read_calls, spans_of=spans_of),
            ),
        ),
        lacks=("nodes", "containers", "use", "calls that no span tells of"),
        inferred=(
            "a service in Kubernetes is namespace/controller, by the k8s attributes of its process",
            *inferred,
            "the called service where it left no span: peer.service, the database, queue or host",
        ),
        notes=(
            "times are ms since 1970 by the clock of each host; skew between hosts stays",
            "ingest all files of a trace together: a trace's calls are numbered once",
        ),
    )


def _read_calls(opened: Opened, spans_of: Callable[[Opened], Iterable[Span | Broken]]) -> Read:
    """The broken spans of a file, and the calls of its spans.

    A trace's spans may lie in several files, so the first of the files tells the calls of all.
    """
    parts = Parts.of(opened, _WORD)
    broken: list[Broken] = []

    def good() -> Iterator[Span]:
        for part in parts.files if parts.first else (opened,):
            for one in spans_of(part):
                if isinstance(one, Span):
                    yield one
                elif Parts.same(part, opened):
                    broken.append(one)

    if parts.first:
        yield from call_rows(good())
    else:
        deque(good(), maxlen=0)
    yield from broken
