"""Series as Prometheus hands them out, in every form; files read without a store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from kubernetes_support import answer, series

from tracekit.intake.read.by_reader import opened as opened_as
from tracekit.intake.read.discover import head_of, identify
from tracekit.intake.sources import Broken, ClusterMatch, ClusterSource, Opened, all_sources
from tracekit.store.tables import all_tables

NAME = "kubernetes"
START = 1_767_225_600
MS = 1000
CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
Sample = tuple[float, float | str]
Made = tuple[str, dict[str, str], Sequence[Sample]]


def at_times(*values: float | str, step: int = 30) -> list[Sample]:
    return [(START + at * step, value) for at, value in enumerate(values)]


def as_range(some: Sequence[Made]) -> str:
    return json.dumps(answer(*(series(name, values, **labels) for name, labels, values in some)))


def as_promtool(some: Sequence[Made]) -> str:
    return json.dumps([series(name, values, **labels) for name, labels, values in some], indent=1)


def labelled(labels: Mapping[str, str], separator: str) -> str:
    return separator.join(f"{key}={json.dumps(value)}" for key, value in labels.items())


def as_dump(some: Sequence[Made]) -> str:
    return "".join(
        f"{{{labelled({'__name__': name, **labels}, ', ')}}} {value} {round(time * MS)}\n"
        for name, labels, values in some
        for time, value in values
    )


def as_openmetrics(some: Sequence[Made]) -> str:
    lines = [
        f"{name}{{{labelled(labels, ',')}}} {value} {time}\n"
        for name, labels, values in some
        for time, value in values
    ]
    return f"# TYPE {some[0][0]} gauge\n{''.join(lines)}# EOF\n"


def as_export(some: Sequence[Made]) -> str:
    return "".join(
        json.dumps(
            {
                "metric": {"__name__": name, **labels},
                "values": [value for _, value in values],
                "timestamps": [round(time * MS) for time, _ in values],
            }
        )
        + "\n"
        for name, labels, values in some
    )


def as_printed(some: Sequence[Made]) -> str:
    """What promtool prints of an answer, when it is not asked for JSON."""
    return "".join(
        f"{name}{{{labelled(labels, ', ')}}} =>\n"
        + "".join(f"{value} @[{time}]\n" for time, value in values)
        for name, labels, values in some
    )


FORMS: list[tuple[str, str, Callable[[Sequence[Made]], str]]] = [
    ("range", "answer.json", as_range),
    ("range", "promtool.json", as_promtool),
    ("range", "printed.txt", as_printed),
    ("text", "dump.txt", as_dump),
    ("text", "series.om", as_openmetrics),
    ("export", "export.jsonl", as_export),
]


def of_pod(name: str = "web-1", container: str | None = "main", **more: str) -> dict[str, str]:
    inner = {} if container is None else {"container": container}
    return {"namespace": "default", "pod": name, **inner, **more}


def amounts_of(result: Reading, table: str = "container") -> list[tuple[object, ...]]:
    columns = ("time_ms", table, "resource", "amount", "unit")
    return result.rows(f"{table}_amount", *columns)


@dataclass(frozen=True)
class Reading:
    """What a reader yielded: the rows of each table, and the broken rows."""

    tables: dict[str, pl.DataFrame]
    broken: list[Broken]

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """The rows of a table in these columns."""
        return self.tables[table].select(columns).rows()


def recognised(path: Path) -> list[tuple[str, str]]:
    """The sources that think a file is theirs, with the kind of file: one where all is well."""
    head = head_of(path, path.name)
    return [
        (name, file.word)
        for name, source in all_sources().items()
        if isinstance(source, ClusterSource)
        for file in source.files
        if file.recognises(head)
    ]


def opened(path: Path) -> Opened:
    """A file as readers get it."""
    return opened_as(path, path.name)


def read(source: str, path: Path) -> Reading:
    """Everything that the source's reader makes of a file, checked against the tables' columns."""
    match = identify(path, path.name, "auto").match
    assert isinstance(match, ClusterMatch)
    assert match.source.name == source
    frames: dict[str, list[pl.DataFrame]] = {}
    broken: list[Broken] = []
    for one in match.file.read(opened(path)):
        assert one.table in match.file.tables
        if isinstance(one, Broken):
            broken.append(one)
            continue
        names = {column.name for column in all_tables()[one.table].columns}
        assert {"line"} <= set(one.rows.columns) <= {*names, "line"}
        frames.setdefault(one.table, []).append(one.rows)
    joined = {table: pl.concat(some, how="diagonal_relaxed") for table, some in frames.items()}
    return Reading(joined, broken)
