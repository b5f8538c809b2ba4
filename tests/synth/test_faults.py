from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from tracekit.synth import layout
from tracekit.synth.layout import Layout, faults_of, plan_faults

LAYOUTS = {kind.stem: kind for kind in (layout.NODE, layout.CONTAINER, layout.RATE, layout.CALL)}
HORIZON_MS = 7_200_000
MISSING = {"(?)", "", "NAN"}
Fields = dict[str, str]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def measures(row: Fields, kind: Layout) -> list[str]:
    return [row[name] for name in kind.measures]


#: What a line must look like to be the defect it is recorded as.
LOOKS: dict[str, Callable[[list[str], Fields, Layout], bool]] = {
    "not_a_number": lambda _, row, kind: "abc" in measures(row, kind),
    "extra_field": lambda fields, _, kind: len(fields) == len(kind.columns) + 1 and "5" in fields,
    "short_row": lambda fields, _, kind: len(fields) == len(kind.columns) - 2,
    "truncated_row": lambda fields, _, __: fields[-1] == "r",
    "negative_usage": lambda _, row, kind: any(float(x) < 0 for x in measures(row, kind)),
    "empty_measurement": lambda _, row, kind: "" in measures(row, kind),
    "missing_entity": lambda _, row, kind: row[kind.entity] in MISSING,
    "embedded_nul": lambda _, row, kind: "\0" in row[kind.entity],
    "missing_name": lambda _, row, kind: any(row[name] in MISSING for name in kind.names),
    "missing_response_time": lambda _, row, __: not row["rt"],
    "missing_rpc_type": lambda _, row, __: not row["rpctype"],
    "usage_above_one": lambda _, row, __: 1 < float(row["node_cpu_usage"]) < 1.1,
    "stray_time": lambda _, row, __: int(row["timestamp"]) > 5 * HORIZON_MS,
}
REPEATS = {"duplicate_adjacent", "duplicate_distant", "key_conflict"}
PLACES = ["source_file", "line", "defect", "action"]


def split(line: str, header: str) -> list[str]:
    """The fields of a line after its index, if the file has one."""
    return line.split(",")[header.startswith(",") :]


def test_every_recorded_defect_is_on_its_line(
    tiny_lines: dict[str, list[str]], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    checked = 0
    for name, line, defect, _ in tiny_truth["defect"].select(PLACES).iter_rows():
        if defect in REPEATS:
            continue
        kind = LAYOUTS[name.split("_")[0]]
        header, text = tiny_lines[name][0], tiny_lines[name][line - 1]
        fields = split(text, header)
        row = dict(zip(kind.columns, fields, strict=False))
        assert LOOKS[defect](fields, row, kind), (name, line, defect, text)
        checked += 1
    assert checked > 90


def test_every_repeated_row_follows_the_good_one(
    tiny_lines: dict[str, list[str]], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    repeats = tiny_truth["defect"].filter(pl.col("defect").is_in(REPEATS))
    for name, line, defect, _ in repeats.select(PLACES).iter_rows():
        kind = LAYOUTS[name.split("_")[0]]
        header, *lines = tiny_lines[name]
        rows = [split(text, header) for text in lines[: line - 1]]
        this, before = rows[-1], rows[:-1]
        if defect == "key_conflict":
            at = [place for place, name in enumerate(kind.columns) if name not in kind.measures]
            same = [row for row in before if len(row) == len(this)]
            assert any([row[i] for i in at] == [this[i] for i in at] for row in same)
            assert this not in before
        elif defect == "duplicate_adjacent":
            assert this == before[-1]
        else:
            assert this in before[:-1]


def test_rows_not_recorded_as_defects_are_good(
    tiny_lines: dict[str, list[str]], tiny_truth: dict[str, pl.DataFrame]
) -> None:
    recorded = set(tiny_truth["defect"].select("source_file", "line").iter_rows())
    for name, (header, *lines) in tiny_lines.items():
        kind = LAYOUTS[name.split("_")[0]]
        seen = set()
        for number, line in enumerate(lines, start=2):
            if (name, number) in recorded:
                continue
            fields = split(line, header)
            row = dict(zip(kind.columns, fields, strict=True))
            assert all(is_number(value) for value in measures(row, kind)), line
            assert row[kind.entity] not in MISSING
            assert 0 <= int(row["timestamp"]) <= HORIZON_MS
            assert tuple(fields) not in seen, "an unplanned repetition"
            seen.add(tuple(fields))


@pytest.mark.parametrize("stem", LAYOUTS)
def test_even_the_tiny_trace_has_every_kind_of_defect(
    tiny_truth: dict[str, pl.DataFrame], stem: str
) -> None:
    kind = LAYOUTS[stem]
    rows = tiny_truth["defect"].filter(pl.col("table") == kind.table)
    counts = dict(rows.group_by("defect").len().iter_rows())

    assert all(counts[fault.name] >= 3 for fault in faults_of(kind))
    actions = dict(rows.select("defect", "action").unique().iter_rows())
    assert actions.items() >= {fault.name: fault.action for fault in faults_of(kind)}.items()


@pytest.mark.parametrize(("rows", "share", "expected"), [(1000, 0.0, 3), (40_000, 1e-3, 40)])
def test_a_kind_of_defect_is_dealt_out_over_all_files(
    rows: int, share: float, expected: int
) -> None:
    names: list[str] = []
    for number in range(7):
        planned = plan_faults(
            layout.NODE,
            np.random.default_rng(number),
            number=number,
            files=7,
            file_rows=rows,
            table_rows=rows,
            share=share,
            minimum=3,
        )
        assert len({plan.row for plan in planned}) == len(planned)
        names += [plan.fault.name for plan in planned]

    assert {name: names.count(name) for name in names} == {
        fault.name: expected for fault in faults_of(layout.NODE)
    }
