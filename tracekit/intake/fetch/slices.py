"""Records the progress of each query in the folder, as ``.prometheus.json``."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_text
from tracekit.intake.fetch.spans import spelled_time
from tracekit.intake.sources.own._prometheus.forms import of_missing_data

NAME = ".prometheus.json"
SCHEMA = "tracekit/prometheus/1"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The answer to a query from ``start_s`` to ``end_s``, both included.

    ``file`` is empty where the answer has no series. ``warnings`` come from the server.
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

    asked: dict[str, Any]
    times: dict[str, int] = field(default_factory=dict)
    slices: dict[str, tuple[Slice, ...]] = field(default_factory=dict)


def stamp(time_s: int) -> str:
    """Print a time for the name of a file: ``20260131T120000Z``."""
    return spelled_time(time_s).replace("-", "").replace(":", "")


def file_name(query: str, start_s: int) -> str:
    """The name of the file of a slice."""
    return f"{query}-{stamp(start_s)}.json.gz"


class Slices:
    """The fetched slices of each query, written to the folder after each slice.

    Raises
    ------
    TracekitError
        When the folder has slices of a fetch with other arguments.
    """

    def __init__(self, folder: Path, asked: Mapping[str, object]) -> None:
        self._path = folder / NAME
        self._folder = folder
        before = _read(self._path)
        if before is not None and _sorted_json(before.asked) != _sorted_json(asked):
            arguments = ", ".join(f"{key} {value}" for key, value in before.asked.items())
            raise TracekitError(
                f"{folder} has the files of another fetch: {arguments}",
                hint="name another folder, or give the same arguments to go on",
            )
        self._document = before or _Document(asked=dict(asked))

    def times(self, start_s: int, end_s: int) -> tuple[int, int]:
        """The first and the last time of the fetch; a later call keeps those of the first call."""
        times = self._document.times
        if not times:
            times |= {"start_s": start_s, "end_s": end_s}
            self._write()
        return times["start_s"], times["end_s"]

    def of(self, query: str) -> list[Slice]:
        """The slices of a query whose files exist, in order of time."""
        every = self._document.slices.get(query, ())
        return [one for one in every if not one.file or self._is_on_disk(one)]

    def note(self, query: str, done: Slice) -> None:
        """Record a slice, and remove the slices of the same time."""
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
        document = {"schema": SCHEMA, **asdict(self._document)}
        with replaced_file(self._path, follow=False) as aside:
            aside.write_text(json.dumps(document, indent=1) + "\n")


def _sorted_json(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True)


def _read(path: Path) -> _Document | None:
    """The document of the folder; None without one, and for a document that no fetch wrote."""
    try:
        document = json.loads(read_text(path))
        if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
            return None
        read = msgspec.convert(document, _Document)
        slices = [(query, one) for query, every in read.slices.items() for one in every]
        sound = all(_is_sound(*one) for one in slices)
    except (OSError, ValueError, OverflowError, RecursionError):
        return None
    return read if sound and read.times.keys() in (set(), {"start_s", "end_s"}) else None


def _is_sound(query: str, one: Slice) -> bool:
    """Whether the times of a slice are in order, and its file has the name of a slice."""
    return one.start_s <= one.end_s and one.file in ("", file_name(query, one.start_s))
