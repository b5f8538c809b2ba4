"""A catalog that changed is told from one that another place or version wrote."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from store_support import tiny_store, tree

from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.store import catalog
from tracekit.store.catalog import checked_catalog
from tracekit.store.folder import CATALOG, Store, open_store

#: Bits flipped, spread over the whole file; its three headers are tried besides.
_FLIPS = 12
_HEADERS = (0, 9, 13, 60, 90, 4095, 4096, 4104, 4120, 8192, 8200, 8216)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("checked"))


def test_as_written_it_is_current_wherever_the_views_were_kept(
    made: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked_catalog(made) == (True, None)
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path)
    assert checked_catalog(made) == (True, None)
    assert list(tmp_path.iterdir()) == []  # what is kept has no say


def test_a_flipped_bit_anywhere_is_damage(made: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = made.path / CATALOG
    whole = catalog.read_bytes()

    def written_again(_: Store, to: Path, **__: bool) -> None:
        to.write_bytes(whole)

    # it would be made anew for each bit, to the same bytes
    monkeypatch.setattr("tracekit.store.catalog.write_catalog_to", written_again)
    passed = []
    for at in (*_HEADERS, *range(5, len(whole), len(whole) // _FLIPS)):
        changed = bytearray(whole)
        changed[at] ^= 16
        catalog.write_bytes(changed)
        if checked_catalog(made)[1] is None:
            passed.append(at)
    catalog.write_bytes(whole)
    assert passed == []


def test_check_verify_names_it_with_an_exit_code_and_any_ingest_mends_it(
    made: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(made.path)
    catalog = made.path / CATALOG
    catalog.write_bytes(catalog.read_bytes()[:-5000])
    assert run(["check", str(made.path), "--verify"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f"{CATALOG} ")
    assert f"the first: {CATALOG}" in shown.err
    ingest(made.path.parent / "traces", made.path)
    assert tree(made.path) == before


@pytest.mark.slow
def test_what_a_user_or_a_killed_ingest_made_of_it_is_no_damage(made: Store) -> None:
    catalog = made.path / CATALOG
    whole = catalog.read_bytes()
    with duckdb.connect(catalog) as con:
        con.execute("SELECT * FROM source_file").fetchall()
    assert checked_catalog(made) == (True, None)  # opened for writing, and left as it was
    with duckdb.connect(catalog) as con:
        con.execute("CREATE VIEW mine AS SELECT 1")
    assert checked_catalog(made) == (False, None)
    catalog.unlink()
    assert checked_catalog(open_store(made.path)) == (False, None)
    catalog.write_bytes(whole)


def test_another_version_of_the_library_is_no_damage(made: Store) -> None:
    """As far as can be tried with one: a file that it wrote by other means."""
    catalog = made.path / CATALOG
    whole = catalog.read_bytes()
    catalog.unlink()
    with duckdb.connect(catalog) as con:
        con.execute("CREATE VIEW another AS SELECT 1")
    assert checked_catalog(made) == (False, None)
    catalog.write_bytes(whole)
