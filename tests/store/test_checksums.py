"""Stored files that change: found by their checksums, and mended from their trace file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store_support import tree
from tests_support import NODE_HEADER, RESOURCE_HEADER, TraceFolder, node_lines, resource_lines

from tracekit.base.errors import TracekitError
from tracekit.commands.check import check
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.store.broken_rows import QUALITY
from tracekit.store.catalog import damaged_parts, damaged_quality, stale_quality
from tracekit.store.folder import FORMAT_VERSION, open_store

#: One byte in so many of a small file is tried.
_EVERY = 41


@pytest.fixture
def many(traces: TraceFolder) -> TraceFolder:
    """Files that bring new ids one after another, and rejects."""
    traces.write("Node_1.csv", NODE_HEADER, [*node_lines(9, 5)[20:], "0,x,abc,1"])
    traces.write("MSResource_1.csv", RESOURCE_HEADER, resource_lines(12, 14))
    return traces


def parts(store: Path) -> list[str]:
    return sorted(p.relative_to(store).as_posix() for p in store.rglob("part-*.parquet"))


def flip(path: Path, at: int = -1) -> None:
    """Flip one bit of a file, in the middle if not told where."""
    data = bytearray(path.read_bytes())
    data[at if at >= 0 else len(data) // 2] ^= 16
    path.write_bytes(bytes(data))


@pytest.mark.slow
def test_a_flipped_bit_is_found_named_and_mended(
    many: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    ingest(many.path, store)
    before = tree(store)
    entries = open_store(store).manifest.sources
    source_of = {path: entry.file for entry in entries for path in entry.checksums}
    for path in parts(store):
        flip(store / path)
        assert run(["check", str(store), "--verify"]) == 1
        capsys.readouterr()
        summary = ingest(many.path / source_of[path], store)
        assert summary.mended == [source_of[path]]
        assert tree(store) == before, path
    assert run(["check", str(store), "--verify"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["gone", "cut", "empty", "first byte"])
def test_any_damage_is_found_and_mended(many: TraceFolder, tmp_path: Path, how: str) -> None:
    store = tmp_path / "store"
    ingest(many.path, store)
    before = tree(store)
    for path in parts(store):
        data = (store / path).read_bytes()
        (store / path).write_bytes({"cut": data[:-1], "empty": b""}.get(how, data))
        if how == "gone":
            (store / path).unlink()
        if how == "first byte":
            flip(store / path, 0)
    assert len(check(store, verify=True)["damaged"]) == len(parts(store)) or how == "gone"
    summary = ingest(many.path, store)
    assert len(summary.mended) == len(open_store(store).manifest.sources)
    assert tree(store) == before
    assert check(store, verify=True)["damaged"] == []


def test_ids_are_mended_before_what_builds_upon_them(many: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(many.path, store)
    sources = open_store(store).manifest.sources
    first, ids = next(
        (entry, path)
        for entry in sources
        for path in entry.checksums
        if path.startswith("dimensions/node/")
    )
    second = next(entry for entry in sources if entry.table == "node_usage")
    assert first.file != second.file
    flip(store / ids)
    (rows,) = [path for path in second.checksums if path.startswith("tables/")]
    flip(store / rows)
    with pytest.raises(TracekitError, match=first.file):
        ingest(many.path / second.file, store)
    with pytest.raises(TracekitError):
        ingest(many.path / first.file, store)
    ingest(many.path / second.file, store)
    assert not list(damaged_parts(store, open_store(store).manifest.sources))


def test_damaged_quality_tables_are_made_anew(many: TraceFolder, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ingest(many.path, store)
    before = tree(store)
    sources = store / "quality" / "sources.parquet"
    sources.write_bytes(sources.read_bytes()[:-1])
    (store / "quality" / "defects.parquet").unlink()
    result = check(store, verify=True)["damaged"]
    assert [one["source_file"] for one in result] == [None, None]
    ingest(many.path / "Node_0.csv", store)
    assert tree(store) == before


@pytest.mark.slow
def test_a_store_without_checksums_is_read_and_said_to_be(
    many: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    ingest(many.path / "Node_0.csv", store)
    manifest = json.loads((store / "manifest.json").read_text())
    del manifest["sources"][0]["checksums"]
    manifest["format_version"] = 2
    del manifest["seal"]
    (store / "manifest.json").write_text(json.dumps(manifest))
    assert run(["check", str(store), "--verify"]) == 0
    capsys.readouterr()
    ingest(many.path, store)
    result = check(store, verify=True)
    assert (result["without_checksums"], result["damaged"]) == (["Node_0.csv"], [])
    assert json.loads((store / "manifest.json").read_text())["format_version"] == FORMAT_VERSION


def test_no_flipped_bit_of_a_small_file_passes(tmp_path: Path) -> None:
    """The manifest and what is derived from it: a bit of every byte, or of a dense sample."""
    (tmp_path / "traces").mkdir()
    traces = TraceFolder(tmp_path / "traces")
    traces.write("Node_0.csv", NODE_HEADER, [*node_lines(3, 4), "0,x,abc,1"])
    store = tmp_path / "store"
    ingest(traces.path, store)
    opened = open_store(store)

    def is_seen() -> bool:
        try:
            now = open_store(store)
        except TracekitError:
            return True
        return bool(list(damaged_quality(now)) or any(stale_quality(now)))

    assert not is_seen()
    for name in ("manifest.json", *QUALITY):
        whole = (store / name).read_bytes()
        passed = []
        for at in range(0, len(whole), _EVERY):
            flip(store / name, at)
            if not is_seen():
                passed.append(at)
            (store / name).write_bytes(whole)
        assert passed == [], name
    assert opened.manifest == open_store(store).manifest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"time_max_ms": ', '"time_max_ms": 1'),
        ('"format_version": 5', '"format_version": 4'),
        ("\n}\n", "\n}"),
        (',\n "seal"', ',\n "made_up": false,\n "seal"'),
        ("crc32:", "crc32:0"),
    ],
)
def test_a_changed_manifest_is_refused(
    traces: TraceFolder, tmp_path: Path, old: str, new: str
) -> None:
    store = tmp_path / "store"
    ingest(traces.path / "Node_0.csv", store)
    text = (store / "manifest.json").read_text()
    assert old in text
    (store / "manifest.json").write_text(text.replace(old, new, 1))
    with pytest.raises(TracekitError):
        open_store(store)


def test_a_moved_store_is_told_and_an_ingest_makes_its_catalog_anew(
    traces: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(traces.path, tmp_path / "store")
    moved = (tmp_path / "store").rename(tmp_path / "moved")
    assert run(["check", str(moved), "--verify"]) == 0
    assert "catalog.duckdb" in capsys.readouterr().out
    ingest(traces.path, moved)
    assert check(moved, verify=True)["stale"] == []
