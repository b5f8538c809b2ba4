"""The views of the queries are bound once, kept, and copied; the catalog's bytes are the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from store_support import tiny_store

from tracekit.store import catalog
from tracekit.store.catalog import HERE, MAIN, write_catalog
from tracekit.store.folder import CATALOG, Store
from tracekit.store.sqlfiles import all_queries


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("bound"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path)
    return tmp_path


def _written(store: Store) -> bytes:
    write_catalog(store)
    return (store.path / CATALOG).read_bytes()


@pytest.mark.usefixtures("cache")
def test_both_schemas_have_every_query(made: Store) -> None:
    _written(made)
    with duckdb.connect(made.path / CATALOG, read_only=True) as con:
        result = con.execute("SELECT schema_name, view_name FROM duckdb_views()").fetchall()
    for query in all_queries().values():
        assert {(MAIN, query.view_name), (HERE, query.view_name)} <= set(result)


def test_what_is_kept_gives_the_bytes_of_what_was_bound(made: Store, cache: Path) -> None:
    first = _written(made)
    assert len(list(cache.iterdir())) == 1
    assert _written(made) == first


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["empty", "no database", "of zeros", "flipped", "cut"])
def test_what_is_damaged_is_made_anew(
    made: Store, cache: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    first = _written(made)
    [file] = cache.iterdir()
    whole = file.read_bytes()
    half = len(whole) // 2
    file.write_bytes(
        {
            "empty": b"",
            "no database": b"no database",
            "of zeros": bytes(12_288),
            "flipped": bytes(byte ^ 255 for byte in whole),
            "cut": whole[:half],
        }[bad]
    )
    assert _written(made) == first
    monkeypatch.setattr(catalog, "_bind", lambda *_: pytest.fail("was bound again"))
    assert _written(made) == first


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_a_changed_byte_does_not_reach_the_catalog(made: Store, cache: Path, tenth: int) -> None:
    first = _written(made)
    [file] = cache.iterdir()
    changed = bytearray(file.read_bytes())
    changed[len(changed) * tenth // 10 + 100] ^= 1
    file.write_bytes(changed)
    assert _written(made) == first


@pytest.mark.slow
@pytest.mark.parametrize("views", [[], ["CREATE VIEW usage_zone_summary AS SELECT 42 AS evil"]])
def test_a_whole_database_of_other_views_is_not_used(
    made: Store, cache: Path, views: list[str]
) -> None:
    first = _written(made)
    [file] = cache.iterdir()
    file.unlink()
    with duckdb.connect(file) as con:
        for view in views:
            con.execute(view)
    assert _written(made) == first
    [anew] = cache.iterdir()  # the other is gone
    assert anew != file


@pytest.mark.slow
def test_other_queries_are_bound_by_themselves(
    made: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _written(made)
    monkeypatch.setattr(
        catalog, "query_views", lambda schema="": iter([f"CREATE VIEW {schema}one AS SELECT 1"])
    )
    _written(made)
    assert len(list(cache.iterdir())) == 2
    with duckdb.connect(made.path / CATALOG, read_only=True) as con:
        assert con.execute("SELECT * FROM here.one").fetchall() == [(1,)]


def test_where_nothing_can_be_kept_the_bytes_are_the_same(
    made: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _written(made)
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path / "is not there")
    assert _written(made) == expected
