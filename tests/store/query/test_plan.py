"""``tracekit estimate``: what there is is counted, what is measured is scaled."""

from __future__ import annotations

import itertools
import re

import pytest
from tests_support import TraceFolder

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query.plan import WORTH_A_CLUSTER_S, EnginePlan, _advice, plan


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("plan")
    ingest(TraceFolder.written(folder / "traces").path, folder / "store")
    return open_store(folder / "store")


def test_rows_and_bytes_are_those_of_the_files(store: Store) -> None:
    results = {table.table: table for table in plan(store).tables}
    for entry in store.manifest.sources:
        parts = store.manifest.parts(entry.table)
        assert results[entry.table].rows == sum(part.rows for part in parts)
        assert results[entry.table].files == len(parts)
        files = store.table_files(entry.table)
        assert results[entry.table].bytes == sum(path.stat().st_size for path in files)


def test_the_rate_of_one_file_is_scaled_to_all_rows(store: Store) -> None:
    ticks = itertools.count(0.0, 2.0)
    made = plan(store, clock=lambda: next(ticks))
    (here,) = made.engines
    rows = sum(table.rows for table in made.tables)
    assert here.start_s == 2.0
    assert here.pass_s == pytest.approx(2.0 + rows / here.rows_per_s)


def engine(name: str, pass_s: float) -> EnginePlan:
    return EnginePlan(engine=name, cores=2, start_s=1.0, rows_per_s=1.0, pass_s=pass_s)


@pytest.mark.parametrize(
    ("passes", "expected"),
    [
        ([3.0], ["3.0 s"]),
        ([WORTH_A_CLUSTER_S * 2], ["20 min"]),
        ([3.0, 9.0], ["3.0 s", "9.0 s"]),
        ([90.0, 9.0], ["9.0 s", "90.0 s"]),
    ],
)
def test_the_advice_is_the_shorter_time(passes: list[float], expected: list[str]) -> None:
    engines = [engine(name, one) for name, one in zip(("duckdb", "cluster"), passes, strict=False)]
    times = re.findall(r"\d[\d.]* (?:s|min)", _advice(tuple(engines)))
    assert times[: len(expected)] == expected
