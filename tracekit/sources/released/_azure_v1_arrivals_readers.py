"""Reads arrivals, durations and maps of azure_v1_arrivals."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Batch, Broken, Head, Opened, Read
from tracekit.sources._rows import long
from tracekit.sources._shape import most_fit
from tracekit.units import BYTES_PER_GIB

_ROWS_AT_ONCE = 200_000
_GB = float(BYTES_PER_GIB)
_STEP_MS = 300_000
_END_OF_BATCH = "|"


_ARRIVALS = re.compile(r"\d+ (?:[a-z|],)+[a-z|]?")
_DURATIONS = re.compile(r"\d+ (?:(?:[UC]\d+|\|),)+(?:[UC]\d+|\|)?")
_FLAVOUR = re.compile(r"(\d+),(\d+(?:\.\d+)?) ([a-z])")
_INTERVAL = re.compile(r"(\d+) (\d+)")


def is_arrivals(head: Head) -> bool:
    """Whether most of the first lines of a file are bins of flavours."""
    return most_fit(head, _ARRIVALS)


def is_durations(head: Head) -> bool:
    """Whether most of the first lines of a file are bins of durations."""
    return most_fit(head, _DURATIONS)


def is_flavours(head: Head) -> bool:
    """Whether a file is called, or looks, like the map of flavours."""
    return head.name == "flav_map.txt" or most_fit(head, _FLAVOUR)


def is_intervals(head: Head) -> bool:
    """Whether a file is called like the map of durations; two numbers a line may be anything."""
    named = "interval_map" in head.name
    return named and (head.name.endswith(".txt") or most_fit(head, _INTERVAL))


@dataclass(frozen=True)
class _Bin:
    """A line: its number, its time in seconds, what stands in it, bars included."""

    line: int
    time_s: int
    words: list[str]
    text: str

    @property
    def shape(self) -> list[int]:
        """How many VMs each batch has."""
        counts = [0]
        for word in self.words:
            counts[-1] += word != _END_OF_BATCH
            if word == _END_OF_BATCH:
                counts.append(0)
        return counts


@dataclass
class _Rows:
    """Containers that are read and not yet handed on."""

    columns: dict[str, list[object]] = field(default_factory=dict)

    def add(self, **values: object) -> None:
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    @property
    def count(self) -> int:
        return len(self.columns.get("line", ()))


def _texts(opened: Opened) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, each with its number."""
    with opened.stream() as stream:
        for line, raw in enumerate(stream, 1):
            text = raw.decode(errors="replace").strip()
            if text:
                yield line, text


def _bins(opened: Opened) -> Iterator[_Bin | Broken]:
    """The bins, each time once: of two the first counts."""
    first: dict[int, int] = {}
    for line, text in _texts(opened):
        time, _, rest = text.partition(" ")
        if not time.isdecimal():
            yield _broken(line, "does not begin with a time in seconds", text)
            continue
        if first.setdefault(int(time), line) != line:
            reason = f"is a second bin of time {time}, which line {first[int(time)]} has already"
            yield _broken(line, reason, text)
            continue
        yield _Bin(line, int(time), [word for word in rest.split(",") if word], text)


def _broken(line: int, reason: str, text: str) -> Broken:
    return Broken(table="container", line=line, reason=reason, text=text)


def _flavours(opened: Opened) -> dict[str, tuple[float, float]]:
    """Cores and bytes of each flavour, out of the map beside the arrivals."""
    found: dict[str, tuple[float, float]] = {}
    for map_file in opened.beside.get("flavours", ()):
        for line, text in _texts(map_file):
            match = _FLAVOUR.fullmatch(text)
            if match is None:
                raise _map_error(map_file, line, text, "like: 1,1.75 b")
            found[match[3]] = (float(match[1]), float(match[2]) * _GB)
    if not found:
        raise TracekitError(
            f"{opened.name}: no flav_map.txt beside it, which says how large the flavours are",
            hint="put resources/maps/flav_map.txt into the same folder and ingest the folder",
        )
    return found


def _durations_ms(opened: Opened) -> dict[int, int]:
    """The middle of each duration bin, out of the map beside the durations."""
    seconds: dict[int, list[int]] = {}
    for map_file in opened.beside.get("intervals", ()):
        for line, text in _texts(map_file):
            match = _INTERVAL.fullmatch(text)
            if match is None:
                raise _map_error(map_file, line, text, "like: 3900 13")
            seconds.setdefault(int(match[2]), []).append(int(match[1]))
    if not seconds:
        raise TracekitError(
            f"{opened.name}: no v1.interval_map.txt beside it, which says how long the bins are",
            hint="put resources/maps/v1.interval_map.txt into the same folder",
        )
    return {
        number: max((min(some) + max(some)) * 500, _STEP_MS) for number, some in seconds.items()
    }


def _map_error(map_file: Opened, line: int, text: str, expected: str) -> TracekitError:
    return TracekitError(
        f"{map_file.name}, line {line}: '{text[:60]}', expected a line {expected}",
        hint="fetch the map again",
    )


def _split(name: str) -> str:
    """The split that a file is of: dev for v1.dev.txt and for v1.dev.c2100000.txt."""
    stem = name.rsplit("/", 1)[-1].removesuffix(".gz").removesuffix(".txt")
    return re.sub(r"\.c\d+$", "", stem).removeprefix("v1.")


def _partner(opened: Opened) -> Opened | None:
    """The durations of the same split."""
    partners = opened.beside.get("durations", ())
    return next((one for one in partners if _split(one.name) == _split(opened.name)), None)


def read_partner(opened: Opened) -> Read:
    """Nothing: the arrivals are read with it.

    Raises
    ------
    TracekitError
        When no arrivals are ingested with it.
    """
    if not opened.beside.get("arrivals"):
        raise TracekitError(
            f"{opened.name} says something of arrivals that are not there",
            hint="put v1.train.txt, v1.dev.txt or v1.test.txt into the same folder",
        )
    yield from ()


def read_durations(opened: Opened) -> Read:
    """The broken bins only: the others are read with the arrivals."""
    yield from read_partner(opened)
    yield from (one for one in _bins(opened) if isinstance(one, Broken))


def read_arrivals(opened: Opened) -> Read:
    """Containers in the order of the file, with flavours as requests."""
    flavours, split = _flavours(opened), _split(opened.name)
    lengths = _lengths(opened)
    rows, position, batch = _Rows(), 0, 0
    for one in _bins(opened):
        if isinstance(one, Broken):
            yield one
            continue
        departures = lengths(one)
        unknown = sorted({*one.words} - {*flavours, _END_OF_BATCH})
        if unknown or isinstance(departures, str):
            reason = f"has flavour '{unknown[0]}', not in flav_map" if unknown else str(departures)
            yield _broken(one.line, reason, one.text)
            continue
        ends = iter(departures)
        for word in one.words:
            if word == _END_OF_BATCH:
                batch += 1
                continue
            cores, memory = flavours[word]
            rows.add(
                container=f"{split}/{position}",
                service=f"{split}/batch-{batch}",
                time_ms=one.time_s * 1000,
                departure_ms=next(ends),
                position=position,
                cores=cores,
                memory=memory,
                line=one.line,
            )
            position += 1
        batch += one.words[-1:] != [_END_OF_BATCH]
        if rows.count >= _ROWS_AT_ONCE:
            yield from _batches(rows)
            rows = _Rows()
    if rows.count:
        yield from _batches(rows)


def _batches(rows: _Rows) -> Read:
    frame = pl.DataFrame(rows.columns, schema_overrides={"departure_ms": pl.Int64})
    yield Batch(table="container", rows=frame.drop("cores", "memory"))
    units = {"cores": ("cpu", "cores", 1.0), "memory": ("memory", "bytes", 1.0)}
    requests = long(frame, ("time_ms", "container"), units).rename({"amount": "request"})
    yield Batch(table="container_resource", rows=requests)


def _lengths(opened: Opened) -> Callable[[_Bin], list[int | None] | str]:
    """Gives the departures of a bin's VMs, or says why there are none."""
    partner = _partner(opened)
    if partner is None:
        return lambda one: [None] * len(one.words)
    lengths = _durations_ms(opened)
    of_time = {one.time_s: one for one in _bins(partner) if isinstance(one, _Bin)}

    def departures(one: _Bin) -> list[int | None] | str:
        other = of_time.get(one.time_s)
        if other is None:
            return f"has no bin of this time in {partner.name}"
        if other.shape != one.shape:
            return f"has other batches than line {other.line} of {partner.name}"
        return _ends(one.time_s * 1000, other.words, lengths)

    return departures


def _ends(time_ms: int, words: list[str], lengths: Mapping[int, int]) -> list[int | None] | str:
    ends: list[int | None] = []
    for word in words:
        if word == _END_OF_BATCH:
            continue
        match = re.fullmatch(r"([UC])(\d+)", word)
        if match is None or int(match[2]) not in lengths:
            return f"has duration '{word[:20]}', expected U or C and a bin of interval_map"
        ends.append(time_ms + lengths[int(match[2])] if match[1] == "U" else None)
    return ends
