from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.interference.vcpu.cpu_list import parse_cpu_list, spell_cpu_list


@pytest.mark.parametrize(
    ("text", "ids"),
    [("0-3,52", (0, 1, 2, 3, 52)), ("7", (7,)), (" 1, 3 ", (1, 3)), ("[2, 4]", (2, 4)),
     ("5 6;7", (5, 6, 7))],
)  # fmt: skip
def test_reads_the_usual_spellings(text: str, ids: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == ids


@pytest.mark.parametrize(
    ("text", "what"),
    [("3-1", "runs backwards"), ("a", "vCPU"), ("", "vCPU"),
     ("1,1", "names a vCPU twice"), ("-1", "vCPU"), ("1.5", "vCPU")],
)  # fmt: skip
def test_says_what_is_wrong(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        parse_cpu_list(text)


@given(some.sets(some.integers(0, 300), min_size=1))
def test_what_is_spelled_reads_back(ids: set[int]) -> None:
    assert parse_cpu_list(spell_cpu_list(list(ids))) == tuple(sorted(ids))
