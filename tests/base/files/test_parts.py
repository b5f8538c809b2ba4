from __future__ import annotations

import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import parse_parts

CASES = [
    ("7", [7]),
    ("0-3", [0, 1, 2, 3]),
    (" 0 - 1 , 5", [0, 1, 5]),
    ("2,0-0,2", [0, 2]),
]


@pytest.mark.parametrize(("text", "numbers"), CASES)
def test_numbers_and_ranges(text: str, numbers: list[int]) -> None:
    parts = parse_parts(text)
    assert parts is not None
    assert [number for number in range(20) if number in parts] == numbers


@pytest.mark.parametrize("text", ["", "a", "3-1", "-1", "1,,2", "1;2", "0-", "1.5"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(TracekitError):
        parse_parts(text)


def test_none_stands_for_all_and_a_huge_range_is_not_counted_out() -> None:
    assert parse_parts(None) is None
    parts = parse_parts("0-99999999999")
    assert parts is not None
    assert 12_345_678_901 in parts
