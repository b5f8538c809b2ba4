"""Broken rows: most rows first, what is left over counted."""

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


def test_kinds_come_with_most_rows_first_and_all_further_ones_are_one_fact() -> None:
    some = _entry("a.csv", 100, [(f"c{at}", 10 - at, f"line {at}: is bad") for at in range(8)])
    whole = _entry("b.json", 50, [("", 50, "line 1: is a series without __name__")])
    first, second, *_, last = found = broken_rows([some, whole])
    assert len(found) == 6
    assert (first.subject, first.because, first.value) == ("b.json", "none_kept", 50)
    assert first.about["column"] is None
    assert (second.subject, second.because, second.value) == ("a.csv", "", 10)
    about = {"table": "node", "column": "c0", "of": 100, "example": "line 0: is bad"}
    assert dict(second.about) == about
    assert (last.because, last.value, last.about["kinds"]) == ("further", 6 + 5 + 4 + 3, 4)
    assert broken_rows([_entry("a.csv", 10, [])]) == []
