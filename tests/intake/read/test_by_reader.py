"""Broken rows of a source that is read by code: all of them, in order, many to a block."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written

from tracekit.intake.read import by_reader
from tracekit.intake.read.by_reader import ReaderFile
from tracekit.intake.read.discover import identify

_BROKEN = 50


def _rejected(folder: Path) -> tuple[int, list[tuple[str, int]]]:
    """How many blocks a file's reader gives, and table and line of every reject, in order."""
    file = identify(folder / "cluster.json", "cluster.json", "auto")
    blocks = [(table, rows.rejects) for table, rows in ReaderFile(file, folder).blocks(print)]
    return len(blocks), [(table, line) for table, one in blocks for line in one["line"].to_list()]


@pytest.mark.slow
def test_broken_rows_wait_for_others_of_their_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [pod(f"lost-{at}", nodeName="n9") for at in range(_BROKEN)]
    written(tmp_path / "cluster.json", listed({}, node("n1"), *lost, node(""), pod("web-1")))
    blocks, rejects = _rejected(tmp_path)
    monkeypatch.setattr(by_reader, "_BLOCK_REJECTS", 1)
    one_by_one, as_before = _rejected(tmp_path)
    assert rejects == as_before
    assert [line for table, line in rejects if table == "container"] == [1, *range(3, 3 + _BROKEN)]
    assert blocks <= one_by_one - _BROKEN
