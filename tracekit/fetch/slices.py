"""The progress of each query, kept in the folder as ``.prometheus.json``."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError
from tracekit.opened import read_text
from tracekit.sources.own._prometheus.warnings import of_missing_data

NAME = ".prometheus.json"
SCHEMA = "tracekit/prometheus/1"


@dataclass(frozen=True, kw_only=True)
class Slice:
    """The answer to a query from one time to another, both included.

    ``file`` is empty where there is no series. ``warnings`` are those of the server.
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
        """Whether the server warned that there is more: it is asked for again."""
        return any(of_missing_data(one) for one in self.warnings)


class Slices:
    """The slices that are whole, by query; written anew with each.

    Raises
    ------
    TracekitError
        When the folder holds what was asked for otherwise.
    """

    def __init__(self, folder: Path, asked: Mapping[str, object]) -> None:
        self._path = folder / NAME
        known = _read(self._path)
        if known is not None and _words(known["asked"]) != _words(asked):
            told = ", ".join(f"{key} {value}" for key, value in known["asked"].items())
            raise TracekitError(
                f"{folder} holds what another fetch asked for: {told}",
                hint="name another folder, or ask the same to go on",
            )
        document = known or {"asked": dict(asked), "times": {}, "slices": {}}
        self._document: dict[str, dict[str, Any]] = document
        self._folder = folder

    def times(self, start_s: int, end_s: int) -> tuple[int, int]:
        """From when to when: as was resolved first, for ``now`` goes on."""
        times = self._document["times"]
        if not times:
            times |= {"start_s": start_s, "end_s": end_s}
            self._write()
        return int(str(times["start_s"])), int(str(times["end_s"]))

    def of(self, query: str) -> list[Slice]:
        """The slices of a query whose files are here, in the order of time."""
        kept = [
            Slice(**{**one, "warnings": tuple(one.get("warnings", ()))})
            for one in self._document["slices"].get(query, [])
        ]
        return [one for one in kept if not one.file or self._is_here(one)]

    def note(self, query: str, done: Slice) -> None:
        """Keep that a slice is here, in place of what was here of its time."""
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
        self._document["slices"][query] = [asdict(one) for one in slices]
        self._write()

    def _is_here(self, one: Slice) -> bool:
        path = self._folder / one.file
        return path.is_file() and path.stat().st_size == one.size_bytes

    def _write(self) -> None:
        aside = self._path.with_name(f"{NAME}.new")
        aside.write_text(json.dumps({"schema": SCHEMA, **self._document}, indent=1) + "\n")
        aside.replace(self._path)


def _words(asked: object) -> str:
    return json.dumps(asked, sort_keys=True)


def _read(path: Path) -> dict[str, dict[str, Any]] | None:
    try:
        document = json.loads(read_text(path))
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        return None
    return document
