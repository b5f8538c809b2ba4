"""A difference of two metrics whose halves lie in two files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kubernetes_support import written
from reading_support import read
from series_support import FORMS, NAME, Made, amounts_of, as_dump, at_times, files_beside

TOTAL, AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"


@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_the_halves_of_a_difference_may_lie_in_two_files(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    """An answer to query_range holds one metric; the file of what is available has the rows."""
    at = {"instance": "n1:9100"}
    total = written(tmp_path / f"total-{name}", form([(TOTAL, at, at_times(100, 100))]))
    available = written(tmp_path / f"left-{name}", form([(AVAILABLE, at, at_times(40, 30))]))
    beside = files_beside(total, available)
    found = read(NAME, available, beside)
    assert [row[1:4] for row in amounts_of(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert found.reasons == []
    # no row is there twice
    other = read(NAME, total, beside)
    assert "node_amount" not in other.tables
    assert other.reasons == []


def test_a_half_that_no_file_has_is_told(tmp_path: Path) -> None:
    at = {"instance": "n1:9100"}
    more = {"instance": "n2:9100"}
    total = written(tmp_path / "total.txt", as_dump([(TOTAL, at, at_times(100, 100))]))
    left = [(AVAILABLE, at, at_times(40, 30)), (AVAILABLE, more, at_times(40, 30))]
    available = written(tmp_path / "left.txt", as_dump(left))
    found = read(NAME, available, files_beside(total, available))
    assert [row[1:4] for row in amounts_of(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == [
        "has 2 times with one of two metrics"
    ]
    alone = read(NAME, total, files_beside(total))
    assert [reason.split(",")[0] for _, _, reason in alone.reasons] == [
        "has 2 times with one of two metrics"
    ]
