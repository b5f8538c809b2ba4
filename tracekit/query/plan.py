"""Before a long computation: how much there is, how fast it goes, whether one machine does.

One pass over a table means: every number of it summed by entity. It is measured on one file of the
store and scaled to the others; an analysis is some tens of passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracekit.files.places import is_remote, parquet_metadata, telling
from tracekit.query.engine import AnyDatabase, open_database
from tracekit.query.reach import Reach, advice_on, measure_reach
from tracekit.shown import Shown
from tracekit.spark import check_engine, is_spark
from tracekit.spark.database import spark_path
from tracekit.store.folder import Store
from tracekit.store.views import quoted_plain
from tracekit.tables import Table, all_tables

#: A pass that takes less than this on one machine is not worth a cluster.
WORTH_A_CLUSTER_S = 600.0


#: A file and the table it is of.
Sample = tuple[Table, Path]


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """What a table holds, in files as they are read."""

    table: str
    rows: int
    bytes: int
    files: int
    partitions: int


@dataclass(frozen=True, kw_only=True)
class EnginePlan:
    """What an engine would take for one pass over all tables.

    Parameters
    ----------
    start_s : float
        Until the engine is up and has done the measured work once.
    rows_per_s : float
        Measured on the largest file, start not counted.
    pass_s : float
        Start and one pass over all rows.
    """

    engine: str
    cores: int
    start_s: float
    rows_per_s: float
    pass_s: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Shown):
    """Rows, bytes and partitions of each table; times of each engine; what to do.

    ``reach`` is there for a store on an object store.
    """

    tables: tuple[TablePlan, ...]
    engines: tuple[EnginePlan, ...]
    advice: str
    reach: Reach | None = None


def plan(
    store: Store, engine: str | None = None, *, clock: Callable[[], float] = time.perf_counter
) -> Plan:
    """Look at a store, measure this machine, and the engine if one is named.

    Raises TracekitError for an engine that is not known or not to be had.
    """
    check_engine(engine)
    tables = tuple(_table_plan(store, name) for name in all_tables() if store.table_files(name))
    rows = sum(table.rows for table in tables)
    sample = _largest(store)
    if sample is None:
        return Plan(tables=tables, engines=(), advice="the store is empty: nothing to compute")
    asked = [None, *([engine] if is_spark(engine) else [])]
    engines = tuple(_measured(store, one, sample, rows, clock) for one in asked)
    if not is_remote(store.path):
        return Plan(tables=tables, engines=engines, advice=_advice(engines))
    requests = sum(table.partitions + 2 * table.files for table in tables)
    size = sum(table.bytes for table in tables)
    with telling():
        reach = measure_reach(sample[1], size, requests, engines[0].pass_s, clock)
    advice = f"{_advice(engines)}; {advice_on(reach)}"
    return Plan(tables=tables, engines=engines, advice=advice, reach=reach)


def _table_plan(store: Store, name: str) -> TablePlan:
    files = store.table_files(name)
    metadata = [parquet_metadata(path) for path in files]
    return TablePlan(
        table=name,
        rows=sum(one.num_rows for one in metadata),
        bytes=sum(path.stat().st_size for path in files),
        files=len(files),
        partitions=sum(one.num_row_groups for one in metadata),
    )


def _largest(store: Store) -> Sample | None:
    files = [
        (path.stat().st_size, str(path), table, path)
        for table in all_tables().values()
        for path in store.table_files(table.name)
        if parquet_metadata(path).num_rows
    ]
    if not files:
        return None
    _, _, table, path = max(files, key=lambda one: one[:2])
    return table, path


def _measured(
    store: Store, engine: str | None, sample: Sample, rows: int, clock: Callable[[], float]
) -> EnginePlan:
    table, path = sample
    began = clock()
    with open_database(store, engine) as database:
        # the first time an engine does anything it also makes itself ready
        _pass(database, table, path, spark=engine is not None)
        ready = clock()
        there = parquet_metadata(path).num_rows
        _pass(database, table, path, spark=engine is not None)
        cores = database.cores
        spent = max(clock() - ready, 1e-9)
    rate = there / spent
    start = ready - began
    return EnginePlan(
        engine=engine or "duckdb",
        cores=cores,
        start_s=start,
        rows_per_s=rate,
        pass_s=start + rows / rate,
    )


def _pass(database: AnyDatabase, table: Table, path: Path, *, spark: bool) -> None:
    """Sum every number of the file by its first id."""
    whole = quoted_plain(path.resolve())
    scan = f"parquet.`{spark_path(path)}`" if spark else f"read_parquet('{whole}')"
    numbers = [column.name for column in table.columns if column.sql_type in {"BIGINT", "DOUBLE"}]
    sums = ", ".join(f"sum(CAST({column} AS DOUBLE)) AS {column}" for column in numbers)
    key = table.ids[0].stored_name
    database.frame(
        f"SELECT count(*) AS entities FROM (SELECT {key}, {sums} FROM {scan} GROUP BY {key})"
    )


def _advice(engines: tuple[EnginePlan, ...]) -> str:
    here, *others = engines
    if not others:
        return _alone(here)
    (other,) = others
    if other.pass_s < here.pass_s:
        return (
            f"{other.engine} is quicker here: {other.pass_s:,.1f} s a pass against"
            f" {here.pass_s:,.1f} s on this machine"
        )
    return (
        f"one machine does: {here.pass_s:,.1f} s a pass, against {other.pass_s:,.1f} s on"
        f" {other.engine}, of which {other.start_s:,.1f} s go by before it answers"
    )


def _alone(here: EnginePlan) -> str:
    if here.pass_s < WORTH_A_CLUSTER_S:
        return f"one machine does: {here.pass_s:,.1f} s a pass"
    return (
        f"{here.pass_s / 60:,.0f} minutes a pass on this machine: a cluster may be worth its while;"
        " compare with --engine spark://HOST:PORT"
    )
