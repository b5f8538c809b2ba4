"""Files as they come from bad disks, bad lines and bad programs, through the whole of ingest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from store_support import tree
from tests_support import (
    NODE_HEADER,
    RESOURCE_HEADER,
    TraceFolder,
    csv_text,
    hex_id,
    node_lines,
    random_node_text,
    resource_lines,
    tar_gz,
)

from tracekit.base.errors import CheckFailedError, TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

NODE = hex_id("node", 0)
BIG_TEXT = random_node_text(60_000)


def stored(store: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The node rows of a store in their order, and its rejects."""
    with Database(open_store(store)) as database:
        rows = "SELECT time_ms, node, cpu_fraction, memory_fraction FROM node_usage ORDER BY ALL"
        return database.frame(rows), database.frame("SELECT * FROM reject ORDER BY line")


def with_store(tmp_path: Path, traces: TraceFolder) -> tuple[Path, dict[str, str]]:
    """A store that holds something already, and its bytes."""
    ingest(traces.path, tmp_path / "store")
    return tmp_path / "store", tree(tmp_path / "store")


@pytest.fixture(scope="module")
def big_archive(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("big") / "Node_9.tar.gz"
    tar_gz(path, {"Node_9.csv": BIG_TEXT})
    return path.read_bytes()


@pytest.mark.slow
def test_a_corrupt_block_in_the_middle_never_goes_in(
    tmp_path: Path, traces: TraceFolder, big_archive: bytes
) -> None:
    store, before = with_store(tmp_path, traces)
    rng = np.random.default_rng(0)
    bad = tmp_path / "Node_9.tar.gz"
    for at in sorted(rng.integers(20, len(big_archive), size=8).tolist()):
        data = bytearray(big_archive)
        data[at : at + 40] = rng.bytes(len(data[at : at + 40]))
        bad.write_bytes(data)
        with pytest.raises(TracekitError):
            ingest(bad, store)
        assert tree(store) == before
    bad.write_bytes(big_archive)
    assert ingest(bad, store).ingested[0].rows == 60_000


def test_the_archive_holds_another_table_than_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "Node_0.tar.gz"
    tar_gz(path, {"Node_0.csv": csv_text(RESOURCE_HEADER, resource_lines())})
    (entry,) = ingest(path, tmp_path / "store").ingested
    assert (entry.table, entry.rows) == ("container_usage", len(resource_lines()))


LONG = "9" * 10_000_000
#: Lines that are too long, and the column that is blamed.
BROKEN_LINES = [
    (f"30000,{NODE[:20]}\0{NODE[21:]},0.5,0.5", None),
    (f"30000,{NODE},{LONG},0.5", None),
    (f"30000,{NODE},0.5,0.{'0' * 4_000_000}", None),
    (LONG, None),
    ("9" * 1_000_000, None),
    (f"1e400,{NODE},0.5,0.5", "time_ms"),
]


@pytest.mark.parametrize(
    ("line", "column"), BROKEN_LINES, ids=[str(n) for n in range(len(BROKEN_LINES))]
)
def test_a_broken_line_costs_itself_only(tmp_path: Path, line: str, column: str | None) -> None:
    path = tmp_path / "Node_0.csv"
    good = node_lines(3, 40)
    path.write_text(csv_text(NODE_HEADER, [*good[:50], line, *good[50:]]))
    (entry,) = ingest(path, tmp_path / "store").ingested
    rows, rejects = stored(tmp_path / "store")
    assert (entry.rows_read, entry.rows, entry.rejected) == (121, 120, 1)
    assert rows.height == 120
    (reject,) = rejects.rows(named=True)
    assert (reject["source_file"], reject["line"], reject["column"]) == ("Node_0.csv", 52, column)
    assert len(reject["reason"]) + len(reject["text"]) < 1000


def windows(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def marked(text: str) -> bytes:
    return b"\xef\xbb\xbf" + text.encode()


def without_last_end(text: str) -> bytes:
    return text.rstrip("\n").encode()


@pytest.mark.parametrize(
    "spell",
    [windows, marked, without_last_end, lambda text: b"\xef\xbb\xbf" + windows(text)],
    ids=["CRLF", "BOM", "no last line end", "BOM and CRLF"],
)
def test_other_programs_line_ends_and_marks_change_nothing(
    tmp_path: Path, spell: Callable[[str], bytes]
) -> None:
    text = csv_text(NODE_HEADER, [*node_lines(), f"0,{NODE},x,0.5"])
    for name, data in (("plain", text.encode()), ("other", spell(text))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Node_0.csv").write_bytes(data)
        ingest(tmp_path / name, tmp_path / f"{name} store")
    plain, other = (tree(tmp_path / f"{name} store") for name in ("plain", "other"))
    assert plain.keys() == other.keys()
    tables = [name for name in plain if name.split("/")[0] in {"tables", "dimensions", "rejects"}]
    assert len(tables) >= 3
    assert [plain[name] for name in tables] == [other[name] for name in tables]


@pytest.mark.parametrize(("every", "share"), [(100, 0.01), (1, 1.0)])
def test_many_broken_rows(tmp_path: Path, every: int, share: float) -> None:
    good = node_lines(10, 100)
    lines = [line if at % every else line.replace("0.", "O.") for at, line in enumerate(good)]
    path = tmp_path / "Node_0.csv"
    path.write_text(csv_text(NODE_HEADER, lines))
    with pytest.raises(CheckFailedError):
        ingest(path, tmp_path / "store", max_rejects_fraction=share - 0.001)
    assert not (tmp_path / "store").exists()
    (entry,) = ingest(path, tmp_path / "store", max_rejects_fraction=share).ingested
    assert (entry.rows_read, entry.rejected) == (1000, round(1000 * share))
    rows, rejects = stored(tmp_path / "store")
    assert rows.height == 1000 - round(1000 * share)
    assert rejects["line"].to_list() == [at + 2 for at in range(1000) if at % every == 0]
