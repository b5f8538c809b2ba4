"""The catalog opens from any folder, also after the store was moved."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from store_support import tiny_store

import tracekit
from tracekit.store.catalog import mend_catalog
from tracekit.store.folder import Store, open_store

COUNT = "SELECT count(*) FROM node_usage"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_store(tmp_path_factory.mktemp("catalog")).path


def rows(catalog: Path, sql: str = COUNT) -> int:
    with duckdb.connect(catalog, read_only=True) as con:
        return int(con.execute(sql).fetchall()[0][0])


def test_it_opens_from_any_folder(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = tracekit.query(made, COUNT).item()
    assert expected > 0
    assert rows(made / "catalog.duckdb") == expected
    zones = tracekit.query(made, "usage/zone_summary").height
    assert rows(made / "catalog.duckdb", "SELECT count(*) FROM usage_zone_summary") == zones


@pytest.mark.parametrize("name", ["moved", "it's [odd], *this* one"])
def test_a_store_that_was_moved_is_mended_when_it_is_opened(
    made: Path, tmp_path: Path, name: str
) -> None:
    moved = tmp_path / name
    shutil.copytree(made, tmp_path / "first")
    mend_catalog(tracekit_store(tmp_path / "first"))
    (tmp_path / "first").rename(moved)
    with pytest.raises(duckdb.IOException, match="No files found"):
        rows(moved / "catalog.duckdb")
    catalog = mend_catalog(tracekit_store(moved))
    assert rows(catalog) == rows(made / "catalog.duckdb")
    written = catalog.read_bytes()
    assert mend_catalog(tracekit_store(moved)).read_bytes() == written


@pytest.mark.parametrize("opens", [lambda path: tracekit.connect(path).close(), tracekit.info])
def test_the_catalog_of_a_copy_is_of_the_copy_once_that_is_opened(
    made: Path, tmp_path: Path, opens: Callable[[Path], object]
) -> None:
    """It went on answering from the original."""
    first = shutil.copytree(made, tmp_path / "first")
    mend_catalog(open_store(first))
    copy = shutil.copytree(first, tmp_path / "copy")
    opens(copy)
    shutil.rmtree(first)
    assert rows(copy / "catalog.duckdb") == rows(made / "catalog.duckdb")


def test_who_only_reads_leaves_a_catalog_alone_that_cannot_be_mended(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    written = (copy / "catalog.duckdb").read_bytes()

    def refused(_: Store) -> None:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tracekit.store.catalog.write_catalog", refused)
    tracekit.info(copy)
    with tracekit.connect(copy) as con:
        assert con.execute(COUNT).fetchall() == [(rows(made / "catalog.duckdb"),)]
    assert (copy / "catalog.duckdb").read_bytes() == written
    # nor is one made that is gone: these do without
    (copy / "catalog.duckdb").unlink()
    tracekit.info(copy)
    assert not (copy / "catalog.duckdb").exists()


def test_from_inside_the_schema_here_needs_no_mending(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path / "first")
    moved = (tmp_path / "first").rename(tmp_path / "moved")
    monkeypatch.chdir(moved)
    catalog = Path("catalog.duckdb")
    for view in ("node_usage", "usage_node_profile", "calls_hot_services"):
        sql = f"SELECT count(*) FROM {{}}{view}"
        assert rows(catalog, sql.format("here.")) == rows(made / catalog, sql.format(""))


def test_a_catalog_that_is_gone_or_damaged_is_made_anew(made: Path, tmp_path: Path) -> None:
    store = shutil.copytree(made, tmp_path / "store")
    (store / "catalog.duckdb").unlink()
    expected = rows(mend_catalog(tracekit_store(store)))
    (store / "catalog.duckdb").write_bytes(b"not a database")
    assert rows(mend_catalog(tracekit_store(store))) == expected


def tracekit_store(path: Path) -> Store:

    return open_store(path)


def test_connect_gives_frames_of_three_kinds(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tracekit.connect(made) as con:
        result = con.sql("FROM usage_zone_summary SELECT zone, nodes")
        polars = result.pl()
        assert result.to_arrow_table().to_pylist() == polars.to_dicts()
    assert isinstance(polars, pl.DataFrame)
    assert polars.equals(tracekit.query(made, "usage/zone_summary").select("zone", "nodes"))


def duckdb_command(arguments: list[str], path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracekit", "duckdb", *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_command_opens_the_duckdb_cli(made: Path) -> None:
    if shutil.which("duckdb", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("the duckdb CLI is not installed (pip install duckdb-cli)")
    done = duckdb_command([str(made), f"COPY ({COUNT}) TO '/dev/stdout' (HEADER false)"], "")
    assert done.stdout.strip() == str(tracekit.query(made, COUNT).item()), done.stderr
    given = duckdb_command([str(made), "-c", f"COPY ({COUNT}) TO '/dev/stdout' (HEADER false)"], "")
    assert given.stdout == done.stdout, given.stderr
    # the catalog is not to be changed by who looks into it
    done = duckdb_command([str(made), "CREATE TABLE t (i INTEGER)"], "")
    assert done.returncode != 0
    assert "read-only" in done.stderr
