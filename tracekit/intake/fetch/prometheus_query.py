"""Fetches the answers to one query from a Prometheus, slice by slice.

``.prometheus.json`` in the folder records the slices of each query.
"""

import codecs
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import put
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_text
from tracekit.base.progress import Task
from tracekit.intake.fetch.download import disk_error
from tracekit.intake.fetch.http import FetchError
from tracekit.intake.fetch.kubernetes import packing, unpacked
from tracekit.intake.fetch.server import Server, TooMuchError, spelled_span, spelled_time
from tracekit.intake.sources.own._json_items import BrokenItem, pieces
from tracekit.intake.sources.own._prometheus.forms import of_missing_data, warnings_of
from tracekit.intake.sources.own._prometheus.metrics import Query
from tracekit.store.broken_rows import LIST_CUT_OFF, VALUE_CUT_OFF

#: Prometheus refuses more points of a series in one answer than 11,000.
_MOST_POINTS = 10_000
#: The samples of a slice: a larger answer loads the server.
_USUAL_SAMPLES = 4_000_000
#: Prometheus looks back five minutes for the last sample of a state.
_STATE_STEP_S = 300
_COUNTED_POINTS = 12
#: The points of a slice where the server cannot even count the series.
_FEW_POINTS = 120
NAME = ".prometheus.json"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A part of the answer to a query, from ``start_s`` to ``end_s``, both included.

    ``file`` is empty if the answer has no series. ``warnings`` come from the server.
    """

    start_s: int
    end_s: int
    series: int
    samples: int
    size_bytes: int
    file: str
    warnings: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether the server warned of missing data; a partial slice is fetched again."""
        return any(of_missing_data(one) for one in self.warnings)


@dataclass(frozen=True, kw_only=True)
class _Document:
    """The arguments of the fetch, its first and last time, and the slices of each query."""

    schema: Literal["tracekit/prometheus/1"]
    asked: dict[str, Any]
    times: dict[str, int] = field(default_factory=dict)
    slices: dict[str, tuple[Slice, ...]] = field(default_factory=dict)


def stamp(time_s: int) -> str:
    """Format a time for a file name: ``20260131T120000Z``."""
    return spelled_time(time_s).replace("-", "").replace(":", "")


def file_name(query: str, start_s: int) -> str:
    """Return the name of the file of a slice."""
    return f"{query}-{stamp(start_s)}.json.gz"


class Slices:
    """The fetched slices of a folder by query; every change is written to ``.prometheus.json``.

    Raises
    ------
    TracekitError
        When the folder has slices of a fetch with other arguments.
    """

    def __init__(self, folder: Path, arguments: Mapping[str, object]) -> None:
        self._path = folder / NAME
        self._folder = folder
        before = _read(self._path)
        if before is not None and _sorted_json(before.asked) != _sorted_json(arguments):
            earlier = ", ".join(f"{key} {value}" for key, value in before.asked.items())
            raise TracekitError(
                f"{folder} has the files of another fetch: {earlier}",
                hint="name another folder, or give the same arguments to go on",
            )
        self._document = before or _Document(schema="tracekit/prometheus/1", asked=dict(arguments))

    def times(self, start_s: int, end_s: int) -> tuple[int, int]:
        """Return the first and the last time of the fetch: the arguments of the first call here.

        A later call gets the same times, so that ``now`` does not move.
        """
        times = self._document.times
        if not times:
            times |= {"start_s": start_s, "end_s": end_s}
            self._write()
        return times["start_s"], times["end_s"]

    def of(self, query: str) -> list[Slice]:
        """Return the slices of a query in order of time, without those whose files are missing."""
        every = self._document.slices.get(query, ())
        return [one for one in every if not one.file or self._is_on_disk(one)]

    def note(self, query: str, done: Slice) -> None:
        """Record a slice, and remove earlier slices that it replaces."""
        before = self.of(query)
        gone = [
            one
            for one in before
            if one.start_s == done.start_s
            or (one.partial and done.start_s < one.start_s <= done.end_s)
        ]
        for one in gone:
            if one.file and one.file != done.file:
                (self._folder / one.file).unlink(missing_ok=True)
        others = [one for one in before if one not in gone]
        slices = sorted([*others, done], key=lambda one: one.start_s)
        self._document.slices[query] = tuple(slices)
        self._write()

    def _is_on_disk(self, one: Slice) -> bool:
        path = self._folder / one.file
        return path.is_file() and path.stat().st_size == one.size_bytes

    def _write(self) -> None:
        with replaced_file(self._path, follow=False) as aside:
            aside.write_text(json.dumps(asdict(self._document), indent=1) + "\n")


def _sorted_json(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True)


def _read(path: Path) -> _Document | None:
    """The document of the folder; None without one, and for a document that no fetch wrote."""
    try:
        read = msgspec.json.decode(read_text(path), type=_Document)
        slices = [(query, one) for query, every in read.slices.items() for one in every]
        sound = all(_is_sound(*one) for one in slices)
    except (OSError, ValueError, OverflowError, RecursionError):
        return None
    return read if sound and read.times.keys() in (set(), {"start_s", "end_s"}) else None


def _is_sound(query: str, one: Slice) -> bool:
    """Whether the times of a slice are in order, and its file has the name of a slice."""
    return one.start_s <= one.end_s and one.file in ("", file_name(query, one.start_s))


@dataclass(frozen=True, kw_only=True)
class FetchedQuery:
    """A query and its fetched answers.

    Parameters
    ----------
    promql : str
        The query in PromQL.
    by_hand : str
        Commands of promtool that send the same query, one a line.
    outcome : {'fetched', 'resumed', 'known', 'shown'}
        Fetched by this call; in part by an earlier call; complete before this call; or not sent.
    warnings : tuple of str
        The warnings of the server, each once.
    """

    name: str
    promql: str
    step_s: int
    by_hand: str
    series: int
    samples: int
    size_bytes: int
    files: tuple[str, ...]
    outcome: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Common:
    """The server, labels, rate, step and times that all queries of a fetch share."""

    url: str
    match: str
    rate_s: int
    step_s: int
    times: tuple[int, int]


class QueryPlan:
    """A query to send: its PromQL, its step, and its first and last time."""

    def __init__(self, query: Query, common: Common) -> None:
        step_s, times = common.step_s, common.times
        self.name = query.name
        self.step_s = step_s * -(-_STATE_STEP_S // step_s) if query.state else step_s
        self.start_s = times[0] // self.step_s * self.step_s
        last = -(-times[1] // self.step_s) if query.state else times[1] // self.step_s
        self.end_s = last * self.step_s
        self.promql = query.promql(
            match=common.match,
            rate=spelled_span(common.rate_s),
            span=spelled_span(self.step_s),
        )
        self._url = common.url
        self.by_hand = self._commands()

    def _commands(self) -> tuple[str, ...]:
        """Commands of promtool for the same query, each within the points of one answer."""
        span = (_MOST_POINTS - 1) * self.step_s
        starts = range(self.start_s, self.end_s + 1, _MOST_POINTS * self.step_s)
        commands = []
        for start in starts:
            end = min(start + span, self.end_s)
            words = [
                *("promtool", "query", "range", "--format=json"),
                *(f"--start={start}", f"--end={end}", f"--step={self.step_s}s"),
                *(self._url, self.promql),
            ]
            part = f"-{stamp(start)}" if len(starts) > 1 else ""
            commands.append(f"{shlex.join(words)} > {self.name}{part}.json")
        return tuple(commands)

    @property
    def points(self) -> int:
        """The number of times at which a series may have a sample."""
        return (self.end_s - self.start_s) // self.step_s + 1

    def progress_of(self, slices: Sequence[Slice], outcome: str) -> FetchedQuery:
        """Return the query as ``FetchedQuery`` with these slices."""
        return FetchedQuery(
            name=self.name,
            promql=self.promql,
            step_s=self.step_s,
            by_hand="\n".join(self.by_hand),
            series=max((one.series for one in slices), default=0),
            samples=sum(one.samples for one in slices),
            size_bytes=sum(one.size_bytes for one in slices),
            files=tuple(one.file for one in slices if one.file),
            outcome=outcome,
            warnings=tuple(dict.fromkeys(text for one in slices for text in one.warnings)),
        )


def fetch_query(
    plan: QueryPlan, folder: Path, slices: Slices, server: Server, task: Task
) -> FetchedQuery:
    """Fetch the slices of a query that the folder lacks, and again those with missing data."""
    whole = {one.start_s: one for one in slices.of(plan.name) if not one.partial}
    before, fetched, points = len(whole), 0, 0
    at = plan.start_s
    while at <= plan.end_s:
        if at in whole:
            done = whole[at]
        else:
            points = points or _points(plan, server)
            done, points = _slice(plan, at, points, folder, server)
            slices.note(plan.name, done)
            fetched += 1
        task.advance((done.end_s - at) // plan.step_s + 1, plan.name)
        at = done.end_s + plan.step_s
    outcome = "known" if not fetched else "resumed" if before else "fetched"
    return plan.progress_of(slices.of(plan.name), outcome)


def _points(plan: QueryPlan, server: Server) -> int:
    """The points of a slice, from the number of series of the query."""
    span = plan.end_s - plan.start_s
    step = max(plan.step_s, span // _COUNTED_POINTS)
    query = f"count({plan.promql})"
    try:
        counts = server.tried(
            lambda: server.values(query, plan.start_s, plan.end_s, step), plan.name, plan.by_hand[0]
        )
    except TooMuchError:
        return _FEW_POINTS
    most = max([1.0, *counts])
    return max(1, min(_MOST_POINTS, int(_USUAL_SAMPLES / most)))


def _slice(
    plan: QueryPlan, start: int, points: int, folder: Path, server: Server
) -> tuple[Slice, int]:
    """Fetch the next slice; returns the slice and the points that the server answers at once."""
    while True:
        end = min(plan.end_s, start + (points - 1) * plan.step_s)
        try:
            return _whole(plan, start, end, folder, server), points
        except TooMuchError:
            points = (min(points, (end - start) // plan.step_s + 1) + 1) // 2


def _whole(plan: QueryPlan, start: int, end: int, folder: Path, server: Server) -> Slice:
    """Fetch one slice; its file gets the final name when it is whole."""
    target = folder / file_name(plan.name, start)
    part = target.with_name(f".{target.name}.part")

    def fetch_once() -> tuple[int, int, tuple[str, ...]]:
        _write(plan, start, end, part, server)
        return _counted(part, server)

    try:
        series, samples, warnings = server.tried(
            fetch_once, plan.name, plan.by_hand[0], alone=end == start
        )
    except OSError as error:
        raise disk_error(error, target) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    size = part.stat().st_size
    if series:
        put({part: target}, folder)
    else:
        part.unlink()
    return Slice(
        start_s=start,
        end_s=end,
        series=series,
        samples=samples,
        size_bytes=size if series else 0,
        file=target.name if series else "",
        warnings=warnings,
    )


def _write(plan: QueryPlan, start: int, end: int, part: Path, server: Server) -> None:
    """Write the answer as it comes, with the name and the text of the query in front."""
    header = {"name": plan.name, "query": plan.promql, "step_s": plan.step_s}
    chunks = server.query_range(plan.promql, start, end, plan.step_s)
    first = next(chunks, b"").removeprefix(codecs.BOM_UTF8).lstrip()
    if not first.startswith(b"{"):
        raise server.strange(first)
    with packing(part) as out:
        out.write(json.dumps(header)[:-1].encode() + b", " + first[1:])
        for chunk in chunks:
            out.write(chunk)


def _counted(part: Path, server: Server) -> tuple[int, int, tuple[str, ...]]:
    """Series, samples and warnings of an answer; raises FetchError when it is cut off."""
    series = samples = 0
    beside: list[dict[str, Any]] = []
    for item in pieces(unpacked(part), beside=beside):
        if isinstance(item, BrokenItem) and item.reason in (LIST_CUT_OFF, VALUE_CUT_OFF):
            raise server.cut()
        if isinstance(item, BrokenItem):
            raise FetchError(f"the answer of {server.url} {item.reason}")
        if isinstance(item.value, dict) and "values" in item.value:
            series += 1
            samples += len(item.value["values"])
    server.check_answer(beside[0] if beside else {})
    return series, samples, warnings_of(beside)
