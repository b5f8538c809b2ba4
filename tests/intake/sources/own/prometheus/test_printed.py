"""What promtool prints of an answer, when it is not asked for JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import written
from reading_support import read, recognised
from series_support import MEMORY, MS, NAME, START, amounts_of

LABELS = 'namespace="default", pod="web-1"'


def test_a_result_without_a_name_is_what_its_file_is_called(tmp_path: Path) -> None:
    text = f"{{{LABELS}}} =>\n5e+08 @[{START}]\n600000000 @[{START + 30}.5]\n"
    path = written(tmp_path / "container_memory_in_use.txt", text)
    assert recognised(path) == [(NAME, "range")]
    assert [(row[0], row[3]) for row in amounts_of(read(NAME, path))] == [
        (START * MS, 5e8), (START * MS + 30_500, 6e8),
    ]  # fmt: skip


def test_an_instant_is_a_line_for_each_series(tmp_path: Path) -> None:
    lines = [f'{MEMORY}{{{LABELS}, container="{name}"}} => {at} @[{START}]' for name, at in
             (("a", 5), ("b", 7))]  # fmt: skip
    path = written(tmp_path / "now.txt", "\n".join(lines))
    assert recognised(path) == [(NAME, "range")]
    assert [row[3] for row in amounts_of(read(NAME, path))] == [12.0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("5 @ 7", (2, None, "is neither a series nor a sample: expected value @[time]")),
        (f"x @[{START}]", (2, None, "is 'x', expected a finite number")),
        ("up{pod=a} =>", (2, None, "has labels that cannot be read")),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(
    tmp_path: Path, line: str, reason: tuple[int, str | None, str]
) -> None:
    text = f"{MEMORY}{{{LABELS}}} =>\n{line}\n5 @[{START}]\n"
    found = read(NAME, written(tmp_path / "out.txt", text))
    assert reason in found.reasons
