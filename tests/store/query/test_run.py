from __future__ import annotations

from pathlib import Path

import pytest
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> Store:
    ingest(traces.path, tmp_path / "store")
    return open_store(tmp_path / "store")


def test_a_parameter_changes_the_answer(store: Store) -> None:
    assert set(run(store, "usage/node_profile")["zone"]) == {"A", "C", "U"}
    many = run(store, "usage/node_profile", {"min_samples": "13"})
    assert set(many["zone"]) == {"too_short"}


def test_a_users_own_file_runs_and_takes_parameters(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.sql"
    path.write_text(
        "SELECT count(*) AS n FROM node_usage"
        " WHERE time_ms < coalesce(getvariable('until_ms')::BIGINT, 60000);"
    )
    assert run(store, str(path))["n"].to_list() == [6]
    assert run(store, str(path), {"until_ms": 30000})["n"].to_list() == [3]
