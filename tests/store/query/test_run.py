from __future__ import annotations

from pathlib import Path

import pytest
from tests_support import TraceFolder

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> Store:
    ingest(traces.path, tmp_path / "store")
    return open_store(tmp_path / "store")


def test_a_parameter_changes_the_answer(store: Store) -> None:
    assert set(run(store, "usage/node_profile")["zone"]) == {"A", "C", "U"}
    many = run(store, "usage/node_profile", {"min_samples": "13"})
    assert set(many["zone"]) == {"too_short"}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("zon", "did you mean 'usage/zone_summary'?"),
        ("zones", "did you mean 'usage/availability_zones'?"),
        ("usage/node_profil", "did you mean 'usage/node_profile'?"),
        ("qqqqq", "for example "),
    ],
)
def test_a_query_is_named_by_a_word_of_it(store: Store, name: str, near: str) -> None:
    with pytest.raises(TracekitError) as told:
        run(store, name)
    assert str(told.value.hint).startswith(near)


def test_a_users_own_file_runs_and_takes_parameters(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.sql"
    path.write_text(
        "SELECT count(*) AS n FROM node_usage"
        " WHERE time_ms < coalesce(getvariable('until_ms')::BIGINT, 60000);"
    )
    assert run(store, str(path))["n"].to_list() == [6]
    assert run(store, str(path), {"until_ms": 30000})["n"].to_list() == [3]


#: Tables that are not there, and which is meant: no view that is merely spelled like it.
MEANT = [
    ("pods", "container"),
    ("pod", "container"),
    ("nodes", "node"),
    ("containers", "container"),
]


@pytest.mark.parametrize(("asked", "meant"), MEANT)
def test_a_table_by_another_name_is_met(store: Store, asked: str, meant: str) -> None:
    with Database(store) as database, pytest.raises(TracekitError, match=asked) as caught:
        database.frame(f"SELECT * FROM {asked}")
    assert caught.value.hint == f'Did you mean "{meant}"?'
