from __future__ import annotations

import errno
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import duckdb
import pytest
from store_support import tiny_store
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database
from tracekit.store.query.database import Views
from tracekit.store.sqlfiles import get_query


def test_other_threads_always_find_a_view_that_is_being_kept(
    traces: TraceFolder, tmp_path: Path
) -> None:
    ingest(traces.path, tmp_path / "store")
    query = get_query("quality/time_grid")
    done = Event()

    def ask(database: Database) -> int:
        wanted = 0
        while not done.is_set():
            database.scalar(f"SELECT count(*) FROM {query.view_name}")
            wanted += 1
        return wanted

    with Database(open_store(tmp_path / "store")) as database, ThreadPoolExecutor(1) as thread:
        rows = database.frame(query.text)
        asking = thread.submit(ask, database)
        try:
            for _ in range(100):
                database.put(query, rows)
            assert database.keep(query).equals(rows)
        finally:
            done.set()
        assert asking.result() > 0


@pytest.mark.slow
def test_what_the_system_refuses_to_read_is_told_as_its_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no caller takes a full or failing disk for a fault of its statement."""
    refused = duckdb.IOException("IO Error: Could not read 'a/b': No space left on device")
    store = tiny_store(tmp_path)
    with Database(store) as database:
        monkeypatch.setattr(Views, "make_for", _raising(refused))
        with pytest.raises(OSError, match="No space left") as raised:
            database.rows("SELECT 1 AS one")
    assert raised.value.errno == errno.ENOSPC


def _raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail
