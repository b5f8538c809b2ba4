"""One query alone: the quick way and the plain way give the same rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from store_support import tiny_store

from tracekit.analysis.quick import run as quick_run
from tracekit.analysis.quick.forms import quick_form
from tracekit.analysis.quick.run import run_quick
from tracekit.store.folder import Store
from tracekit.store.query import run
from tracekit.store.sqlfiles import SqlFile


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which quick forms are taken, however few rows there are."""
    names: list[str] = []

    def of_any_size(query: SqlFile, store: Store) -> object:
        form = quick_form(query, store, from_rows=1)
        names.extend([form.query] if form else [])
        return form

    monkeypatch.setattr(quick_run, "quick_form", of_any_size)
    return names


@pytest.mark.parametrize(
    ("name", "params", "forms"),
    [
        ("calls/service_edges", {}, {"calls/service_edges"}),
        ("calls/hot_services", {}, {"calls/service_edges"}),
        ("usage/zone_summary", {}, {"usage/node_profile"}),
        ("services/placement", {}, {"usage/node_profile"}),
        ("usage/node_blocks", {}, set()),
        ("calls/rpc_types", {}, set()),
    ],
)
def test_the_rows_are_those_of_the_sql(
    store: Store, taken: list[str], name: str, params: dict[str, str], forms: set[str]
) -> None:
    found, expected = run_quick(store, name, params), run(store, name, params)
    assert expected.height
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-11)
    assert set(taken) == forms


def test_a_parameter_that_a_quick_form_would_have_to_heed_is_heeded(
    store: Store, taken: list[str]
) -> None:
    few, many = ({"min_samples": value} for value in ("2", "100000"))
    assert run_quick(store, "usage/node_profile", many).equals(
        run(store, "usage/node_profile", many)
    )
    assert not run_quick(store, "usage/node_profile", few).equals(
        run_quick(store, "usage/node_profile", many)
    )
    assert set(taken) == {"usage/node_profile"}  # asked about, and not taken: see the rows


def test_a_file_of_ones_own_reads_the_views_it_names(
    store: Store, taken: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.sql").write_text("SELECT count(*) AS n FROM calls_service_edges;")
    found = run_quick(store, str(tmp_path / "mine.sql"))
    assert found.equals(pl.DataFrame({"n": [run(store, "calls/service_edges").height]}))
    assert set(taken) == {"calls/service_edges"}
