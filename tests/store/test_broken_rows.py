"""Broken rows in sentences: most rows first, what is left over counted."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.store.broken_rows import broken_rows
from tracekit.store.manifest import REJECTED, Defect, SourceEntry


def _entry(file: str, read: int, kinds: Sequence[tuple[str, int, str]]) -> SourceEntry:
    defects = [
        Defect(defect="kind", column=column, rows=rows, action=REJECTED, example=example)
        for column, rows, example in kinds
    ]
    kept = Defect(defect="other", column="", rows=99, action="kept", example="line 1")
    rejected = sum(one.rows for one in defects)
    return SourceEntry(
        file=file,
        size_bytes=1,
        sha256="",
        content="",
        release="kubernetes",
        table="node",
        part=0,
        rows_read=read,
        rows=read - rejected,
        rejected=rejected,
        duplicates_dropped=0,
        time_min_ms=None,
        time_max_ms=None,
        defects=(kept, *defects),
        checksums={},
    )


def test_a_sentence_says_how_many_where_and_why() -> None:
    some = _entry("a.csv", 10, [("cpu", 2, "line 3: is 'x', expected a number")])
    whole = _entry("b.json", 5, [("", 5, "line 1: is a series without __name__")])
    assert broken_rows([some, whole]) == [
        (
            "b.json, node: no row of it is stored: 5 of 5 rows are broken;"
            " the first is line 1: is a series without __name__"
        ),
        "a.csv, node: 2 of 10 rows are broken; the first is line 3: cpu is 'x', expected a number",
    ]


def test_kinds_beyond_the_first_are_counted() -> None:
    kinds = [(f"c{at}", 10 - at, f"line {at}: is bad") for at in range(8)]
    told = broken_rows([_entry("a.csv", 100, kinds)])
    assert len(told) == 6
    assert told[-1] == "3 more kinds of broken rows, 12 rows in all"


def test_nothing_is_said_where_nothing_is_broken() -> None:
    assert broken_rows([_entry("a.csv", 10, [])]) == []
