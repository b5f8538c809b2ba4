"""Before a long computation: the amount of data, the speed, and whether one machine is enough.

A pass over a table sums every number of the table by entity. One file of the store is measured, and
its time is scaled to the others. An analysis takes some tens of passes.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.files.places import (
    explained_store_errors,
    filesystem,
    is_remote,
    parquet_metadata,
    within,
)
from tracekit.base.shown import Shown
from tracekit.store.folder import Store
from tracekit.store.query.run import AnyDatabase, open_database
from tracekit.store.spark import check_engine, is_spark, spark_path
from tracekit.store.tables import Table, all_tables
from tracekit.store.views import quoted_plain

#: So much of a file is read to learn the rate of the network.
_SAMPLE_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Public list prices in USD, on demand, of one provider's region us-east-1 in 2025.

    ``machine_hour`` is the price of two cores and 8 GiB (m6i.large); the other prices are those of
    the provider's standard object storage. Transfer out of the region costs extra and is not
    counted.
    """

    machine_hour: float = 0.096
    gb_month: float = 0.023
    thousand_gets: float = 0.0004


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What it takes to read a whole store on an object store once: time, requests and price.

    Parameters
    ----------
    bytes : int
        The bytes of all tables; a pass over few columns reads less.
    requests : int
        One for each row group, and two for the foot of each file.
    bytes_per_s : float
        The rate at which the beginning of the largest file was read.
    transfer_s : float
        The time for all bytes at that rate.
    free_bytes : int
        Free space for temporary files on this machine.
    pass_usd, month_usd : float
        The list price of a pass on a machine of two cores, and of a month of storage.
    """

    bytes: int
    requests: int
    bytes_per_s: float
    transfer_s: float
    free_bytes: int
    pass_usd: float
    month_usd: float


def measure_reach(
    largest: Path, size: int, requests: int, pass_s: float, clock: Callable[[], float]
) -> Reach:
    """Measure the rate of reading the largest file, and return the costs for ``size`` bytes."""
    prices = Prices()
    began = clock()
    read = len(filesystem(largest).cat_file(within(largest), start=0, end=_SAMPLE_BYTES))
    rate = read / max(clock() - began, 1e-9)
    transfer_s = size / rate
    machine = max(pass_s, transfer_s) / 3600 * prices.machine_hour
    return Reach(
        bytes=size,
        requests=requests,
        bytes_per_s=rate,
        transfer_s=transfer_s,
        free_bytes=shutil.disk_usage(tempfile.gettempdir()).free,
        pass_usd=machine + requests / 1000 * prices.thousand_gets,
        month_usd=size / 1e9 * prices.gb_month,
    )


def advice_on(reach: Reach) -> str:
    """Return a sentence that says whether the store can be copied here, and what that takes."""
    size = f"{reach.bytes / 1e9:,.1f} GB"
    if reach.bytes > reach.free_bytes:
        return (
            f"its {size} do not fit this disk ({reach.free_bytes / 1e9:,.1f} GB free):"
            " they are read where they are, a row group at a time"
        )
    return (
        f"to copy its {size} here takes {reach.transfer_s:,.0f} s once;"
        " read where they are, each pass takes that again for the columns it needs"
    )


#: A pass that takes less than this on one machine is not worth a cluster.
WORTH_A_CLUSTER_S = 600.0


#: A file and the table it is of.
Sample = tuple[Table, Path]


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """The rows, bytes, files and row groups (``partitions``) of a table."""

    table: str
    rows: int
    bytes: int
    files: int
    partitions: int


@dataclass(frozen=True, kw_only=True)
class EnginePlan:
    """The time that an engine needs for one pass over all tables, scaled from one file.

    Parameters
    ----------
    start_s : float
        The time until the engine has started and has done the measured work once.
    rows_per_s : float
        The speed on the largest file, without the start.
    pass_s : float
        The time for the start and one pass over all rows.
    """

    engine: str
    cores: int
    start_s: float
    rows_per_s: float
    pass_s: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Shown):
    """The result of ``plan``: the size of each table, the times of each engine, and advice.

    ``reach`` is None unless the store is on an object store.
    """

    tables: tuple[TablePlan, ...]
    engines: tuple[EnginePlan, ...]
    advice: str
    reach: Reach | None = None


def plan(
    store: Store, engine: str | None = None, *, clock: Callable[[], float] = time.perf_counter
) -> Plan:
    """Measure a store and a pass over it on this machine, and on a Spark ``engine`` if given.

    Raises TracekitError for an unknown engine, and for an engine that cannot be used.
    """
    check_engine(engine)
    tables = tuple(_table_plan(store, name) for name in all_tables() if store.table_files(name))
    rows = sum(table.rows for table in tables)
    sample = _largest(store)
    if sample is None:
        return Plan(tables=tables, engines=(), advice="the store is empty: nothing to compute")
    chosen = [None, *([engine] if is_spark(engine) else [])]
    engines = tuple(_measured(store, one, sample, rows, clock) for one in chosen)
    if not is_remote(store.path):
        return Plan(tables=tables, engines=engines, advice=_advice(engines))
    requests = sum(table.partitions + 2 * table.files for table in tables)
    size = sum(table.bytes for table in tables)
    with explained_store_errors():
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
        sample_rows = parquet_metadata(path).num_rows
        _pass(database, table, path, spark=engine is not None)
        cores = database.cores
        spent = max(clock() - ready, 1e-9)
    rate = sample_rows / spent
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
