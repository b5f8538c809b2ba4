from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from tests_support import TraceFolder

from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.sqlfiles import get_query
from tracekit.store import open_store


def test_other_threads_always_find_a_view_that_is_being_kept(
    traces: TraceFolder, tmp_path: Path
) -> None:
    ingest(traces.path, tmp_path / "store")
    query = get_query("quality/time_grid")
    done = Event()

    def ask(database: Database) -> int:
        asked = 0
        while not done.is_set():
            database.scalar(f"SELECT count(*) FROM {query.view_name}")
            asked += 1
        return asked

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
