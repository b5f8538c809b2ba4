"""Commands in lines: nothing is lost, lines fit, and a shell reads them as one."""

from __future__ import annotations

import shlex

import pytest

from tracekit.base.shell import in_lines, quoted

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


def test_a_command_that_fits_stays_one_line() -> None:
    assert in_lines("tracekit info s", 40) == "tracekit info s"


@pytest.mark.parametrize(
    "text", ["plain", "two words", "SELECT 'a' FROM 'b c'", "it's $HOME", "a \"b\" 'c'", "a'\\'b!"]
)
def test_a_text_is_one_word(text: str) -> None:
    assert shlex.split(quoted(text)) == [text]
    assert not quoted("SELECT 'a'").startswith("'")
