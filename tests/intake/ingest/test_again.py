"""Ingest again: the same files give the same bytes, known ones are passed over, keys stay."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from store_support import tree
from tests_support import NODE_HEADER, TraceFolder, hex_id, node_lines, tar_gz

from tracekit.intake.ingest import ingest
from tracekit.intake.read import blocks
from tracekit.store.folder import open_store


def test_the_same_files_give_the_same_bytes(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "one")
    ingest(traces.path, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_the_block_size_does_not_show(
    traces: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(traces.path, tmp_path / "one")
    monkeypatch.setattr(blocks.lines_in_blocks, "__defaults__", (700, 0))
    ingest(traces.path, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_running_again_takes_nothing_twice(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(traces.path, store)
    before = tree(store)
    summary = ingest(traces.path, store)
    assert summary.ingested == []
    assert len(summary.known) == 4
    assert tree(store) == before


def test_a_copy_packed_otherwise_is_known_again(traces: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    tar_gz(traces.path / "Node.tar.gz", {"Node_0.csv": (traces.path / "Node_0.csv").read_text()})
    summary = ingest(traces.path, store)
    assert summary.known == [("Node_0.csv", "Node.tar.gz")]
    assert open_store(store).manifest.parts("node_usage")[0].rows == len(node_lines())


def test_adding_files_later_keeps_the_keys_that_were_given(
    traces: TraceFolder, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    before = open_store(store).dimension_files("node")
    bytes_before = [path.read_bytes() for path in before]
    known = pl.read_parquet(before)
    traces.write("Node_1.csv", NODE_HEADER, [f"0,{hex_id('node', 50)},0.5,0.5"])
    ingest(traces.path, store)
    after = open_store(store).dimension_files("node")
    assert after[: len(before)] == before
    assert [path.read_bytes() for path in before] == bytes_before
    ids = pl.read_parquet(after)
    assert ids.head(known.height).equals(known)
    assert ids.height == known.height + 1


def test_one_by_one_or_all_at_once_is_the_same(traces: TraceFolder, tmp_path: Path) -> None:
    ingest(traces.path, tmp_path / "one")
    for name in sorted(path.name for path in traces.path.iterdir()):
        ingest(traces.path / name, tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
