"""Quantities and commands as screens show them."""

from __future__ import annotations

import shlex

import pytest

from tracekit.base.units import duration
from tracekit.base.words import in_lines

LONG = (
    "tracekit replay 'my store' --assume 'name=a value' --policy first_fit --policy"
    " 'near[near_weight=2]' --repeat 20 --out 'a folder'"
)


@pytest.mark.parametrize("width", [30, 44, 78, 400])
def test_a_shell_reads_the_lines_as_the_command(width: int) -> None:
    lines = in_lines(LONG, width)
    assert shlex.split(lines.replace("\\\n", "")) == shlex.split(LONG)
    assert all(line.endswith(" \\") for line in lines.split("\n")[:-1])


def test_lines_fit_and_begin_with_an_option() -> None:
    first, *others = in_lines(LONG, 44).split("\n")
    assert len(first) <= 44
    assert others
    assert all(len(line) <= 44 and line.startswith("    --") for line in others)


# Quantities as screens show them.


HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("time_ms", "said"),
    [
        (60, "60 ms"),
        (90_000, "1 min 30 s"),
        (71 * HOUR_MS, "71 h"),
        (72 * HOUR_MS, "3 d"),
        (1823 * HOUR_MS + 60_000, "75 d 23 h"),
    ],
)
def test_a_span_of_time(time_ms: float, said: str) -> None:
    assert duration(time_ms) == said
