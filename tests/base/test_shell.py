"""Commands in lines: nothing is lost, lines fit, and a shell reads them as one."""

from __future__ import annotations

import shlex

import pytest

from tracekit.base.shell import in_lines

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
