"""Makes calls out of the spans of a trace: a position for each call, a record for each end.

A span of the calling end and the span of the called end below it are two records of one call. Both
have one position, and the response time of the called end is negative. A span of any other kind
below a span of the same service is work within that service, and no call.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import polars as pl

from tracekit.intake.sources._source import (
    Batch,
    Broken,
    ClusterFile,
    ClusterSource,
    Head,
    Opened,
    Parts,
    Read,
)
from tracekit.intake.sources.own._json_items import BrokenItem, items
from tracekit.intake.sources.own._spans import CALLED, CALLING, Span, by_trace

_BLOCK_ROWS = 100_000
_NAMED = {"rpc", "http"}
#: The type of a first span that is no call over the network, as of a job or a timer.
_OWN_WORK = "userDefined"
_SCHEMA = {
    "time_ms": pl.Int64,
    "trace": pl.String,
    "rpc_id": pl.String,
    "upstream": pl.String,
    "rpc_type": pl.String,
    "downstream": pl.String,
    "interface": pl.String,
    "response_time_ms": pl.Float64,
    "line": pl.Int64,
}
_Row = tuple[int, str, str, str | None, str | None, str | None, str | None, float, int]


def call_rows(spans: Iterable[Span]) -> Read:
    """Yield the calls of all traces, and a reject for each span that no root span leads to."""
    rows: list[_Row] = []
    for trace in by_trace(spans):
        tree = _Tree(trace)
        rows += tree.rows
        yield from tree.broken
        if len(rows) >= _BLOCK_ROWS:
            yield _batch(rows)
            rows = []
    if rows:
        yield _batch(rows)


def _batch(rows: list[_Row]) -> Batch:
    return Batch(table="call", rows=pl.DataFrame(rows, schema=_SCHEMA, orient="row"))


@dataclass
class _Place:
    """A position in a trace, and the number of calls from it."""

    path: str
    calls: int = 0

    def next(self) -> _Place:
        self.calls += 1
        return _Place(f"{self.path}.{self.calls}")


@dataclass
class _Call:
    """A call: its position, and the spans of its two ends."""

    place: _Place
    upstream: str | None
    calling: Span | None = None
    called: list[Span] = field(default_factory=list)
    #: The called service by its own calls below, where the called end left no span.
    below: str | None = None

    def rows(self) -> Iterator[tuple[Span, _Row]]:
        """Yield a record for each end with a span."""
        ends = [*self.called, *([self.calling] if self.calling else [])]
        kind, interface = self._kind(ends), None
        if kind in _NAMED:
            interface = next((span.name for span in ends if span.name), None)
        first = self.called[0].service if self.called else self.below
        for span in ends:
            calling = span is self.calling
            duration_ms = span.duration_ns / 1e6
            row = (
                span.start_ns // 1_000_000,
                span.trace,
                self.place.path,
                self.upstream,
                kind,
                (first or span.peer) if calling else span.service,
                interface,
                duration_ms if calling else -duration_ms,
                span.line,
            )
            yield span, row

    def _kind(self, ends: list[Span]) -> str:
        stated = next((span.kind for span in reversed(ends) if span.kind), None)
        remote = self.upstream is not None or any(span.side for span in ends)
        return stated or ("rpc" if remote else _OWN_WORK)


class _Step(NamedTuple):
    """A span without a position, the call around it, and the call that it may be an end of."""

    span: Span
    parent: Span | None
    inside: _Place
    above: _Call | None


class _Tree:
    """The tree of the spans of one trace."""

    def __init__(self, spans: list[Span]) -> None:
        self.broken: list[Broken] = []
        self._calls: list[_Call] = []
        once, self._again = self._once(spans)
        self._below: dict[str, list[Span]] = defaultdict(list)
        self._ids = {span.span for span in once}
        tops: dict[str, list[Span]] = defaultdict(list)
        for span in sorted(once, key=lambda one: (one.start_ns, one.span)):
            if span.parent is not None and span.parent in self._ids:
                self._below[span.parent].append(span)
            else:
                tops[span.parent or ""].append(span)
        self._reached: set[str] = set()
        self._grow(tops)
        for span in once:
            if span.span not in self._reached:
                self._break(span, "is its own ancestor, expected a tree of spans")
        self.rows = self._rows()

    def _once(self, spans: list[Span]) -> tuple[list[Span], list[Span]]:
        """The spans of each id once, and the repeated spans.

        Zipkin writes the calling and the called end of a call as two spans of one id. The called
        end gets an id of its own, and the spans of its service below become its children.
        """
        first: dict[str, Span] = {}
        again: list[Span] = []
        shared: dict[str, Span] = {}
        for span in spans:
            other = first.setdefault(span.span, span)
            if other is span:
                continue
            if other._replace(line=0) == span._replace(line=0):
                again.append(other)
            elif {other.side, span.side} == {CALLING, CALLED} and span.span not in shared:
                calling, called = (other, span) if other.side == CALLING else (span, other)
                first[span.span] = calling
                shared[span.span] = called._replace(span=f"{span.span}/called", parent=span.span)
            else:
                self._break(span, "is the id of another span of the trace")
        once = [
            span._replace(parent=shared[span.parent].span)
            if span.parent in shared and span.service == shared[span.parent].service
            else span
            for span in first.values()
        ]
        return [*once, *shared.values()], again

    def _grow(self, tops: dict[str, list[Span]]) -> None:
        """Give positions to all spans, from the first spans downwards.

        Spans of one missing parent get one common position above them, without a record.
        """
        number = 0
        for span in tops.pop("", []):
            self._descend(span, _Place(str(number)), entry=True)
            number += 1
        for orphans in sorted(tops.values(), key=lambda some: some[0].start_ns):
            lost = _Place(str(number))
            for span in orphans:
                self._descend(span, lost, entry=False)
            number += 1

    def _descend(self, top: Span, inside: _Place, *, entry: bool) -> None:
        """Number the calls at and below a span, in order of their starts.

        Parameters
        ----------
        inside : _Place
            The position of the call around the span; for an entry the position of the span.
        entry : bool
            Whether the trace begins with the span.
        """
        number = count()
        waiting = [(top.start_ns, next(number), _Step(top, None, inside, None))]
        while waiting:
            _, at, step = heappop(waiting)
            span = step.span
            self._reached.add(span.span)
            within, call = self._placed(step, entry=entry and at == 0)
            for one in self._below.get(span.span, ()):
                elsewhere = call is not None and one.service != span.service
                place = call.place if call is not None and elsewhere else within
                heappush(waiting, (one.start_ns, next(number), _Step(one, span, place, call)))

    def _placed(self, step: _Step, *, entry: bool) -> tuple[_Place, _Call | None]:
        """The position for the calls of a span, and the call whose called end may lie below it."""
        span, parent, inside, above = step.span, step.parent, step.inside, step.above
        side = _side(span, parent, first=entry)
        if side is None:
            return inside, above
        if side == CALLED and above is not None:
            above.called.append(span)
            return above.place, None
        if above is not None and above.calling and span.service != above.calling.service:
            above.below = above.below or span.service
        upstream = parent.service if parent is not None else None
        # the trace enters with its first called span; every other call has a place around it
        place = inside if entry and side == CALLED else inside.next()
        call = _Call(place, span.service if side == CALLING else upstream)
        self._calls.append(call)
        if side == CALLING:
            call.calling = span
            return inside, call
        call.called.append(span)
        return place, None

    def _rows(self) -> list[_Row]:
        pairs = [pair for call in self._calls for pair in call.rows()]
        by_span = {span.span: row for span, row in pairs}
        again = (by_span[one.span] for one in self._again if one.span in by_span)
        return [*(row for _, row in pairs), *again]

    def _break(self, span: Span, reason: str) -> None:
        text = f"trace {span.trace}, span {span.span}, service {span.service}"
        self.broken.append(
            Broken(table="call", line=span.line, column="rpc_id", reason=reason, text=text)
        )


def _side(span: Span, parent: Span | None, *, first: bool) -> str | None:
    """The end of a call that a span records; None for work within a service."""
    if span.side is not None:
        return span.side
    if first or (parent is not None and span.service != parent.service):
        return CALLED
    return None


_WORD = "spans"
_SpansOf = Callable[[Any, int], Iterable[Span | Broken]]


def span_source(
    *,
    name: str,
    title: str,
    url: str,
    recognises: Callable[[Head], bool],
    spans_of: _SpansOf,
    inferred: tuple[str, ...],
) -> ClusterSource:
    """Return the source of spans of one format, with the facts that all formats share.

    Parameters
    ----------
    spans_of : function(Any, int) -> Iterable of Span or Broken
        Takes a JSON document and its number in the file; yields its spans.
    """
    return ClusterSource(
        name=name,
        title=title,
        url=url,
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


def _spans(opened: Opened, spans_of: _SpansOf) -> Iterator[Span | Broken]:
    for item in items(opened):
        if isinstance(item, BrokenItem):
            yield Broken(table="call", line=item.number, reason=item.reason, text=item.text)
        else:
            yield from spans_of(item.value, item.number)


def _read_calls(opened: Opened, spans_of: _SpansOf) -> Read:
    """The broken spans of a file, and the calls.

    The spans of a trace may lie in several files, so the first file yields the calls of all files.
    """
    parts = Parts.of(opened, _WORD)
    broken: list[Broken] = []

    def good() -> Iterator[Span]:
        for part in parts.files if parts.first else (opened,):
            for one in _spans(part, spans_of):
                if isinstance(one, Span):
                    yield one
                elif Parts.same(part, opened):
                    broken.append(one)

    if parts.first:
        yield from call_rows(good())
    else:
        deque(good(), maxlen=0)
    yield from broken
