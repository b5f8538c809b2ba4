"""Queries on calls, neighbours on nodes, and quality."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from store_support import tiny_store
from tests_support import CALL_HEADER, NODE_HEADER, TraceFolder, csv_text, hex_id

from tracekit.base.arrays import IntArray
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import Database, run

REMOTE = {"rpc", "http", "mq"}
Record = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny_store(tmp_path_factory.mktemp("calls"), seed=4, tables="MSCallGraph")


def store_of(tmp_path: Path, lines: list[str]) -> Store:
    (tmp_path / "MSCallGraph_0.csv").write_text(csv_text(CALL_HEADER, lines))
    ingest(tmp_path / "MSCallGraph_0.csv", tmp_path / "store")
    return open_store(tmp_path / "store")


def records(store: Store) -> list[Record]:
    with Database(store) as database:
        return database.rows("SELECT * FROM call")


def edges_plainly(rows: list[Record]) -> dict[tuple[Any, ...], list[tuple[int, float]]]:
    """For each edge its rpc ids, each with calls and response time."""
    same: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for r in rows:
        edge = (r["upstream"], r["downstream"], r["rpc_type"])
        same[(*edge, r["trace"], r["rpc_id"])].append(number(r["response_time_ms"]))
    edges = defaultdict(list)
    for key, times in same.items():
        calling = [time for time in times if time > 0]
        called = [-time for time in times if time < 0]
        calls = max(len(calling), len(called), (len(times) + 1) // 2)
        duration = max(calling, default=max(map(abs, times)))
        edges[key[:3]].append((calls if key[2] in REMOTE else len(times), duration))
    return edges


def number(value: float | None) -> float:
    return math.nan if value is None else value


def test_service_edges(store: Store) -> None:
    expected = edges_plainly(records(store))
    entries = run(store, "calls/service_edges").rows(named=True)
    assert len(entries) == len(expected)
    for row in entries:
        ids = expected[row["upstream"], row["downstream"], row["rpc_type"]]
        durations = [duration for _, duration in ids if not math.isnan(duration)]
        assert row["calls"] == sum(calls for calls, _ in ids)
        assert row["response_time_p50_ms"] == pytest.approx(np.quantile(durations, 0.5))
        assert row["response_time_p95_ms"] == pytest.approx(np.quantile(durations, 0.95))
        assert row["response_time_max_ms"] == max(durations)
    missing = [r for r in records(store) if r["response_time_ms"] is None]
    assert missing, "the made-up trace has missing response times"


def test_both_ends_of_a_call_count_once(tmp_path: Path) -> None:
    store = store_of(
        tmp_path,
        [
            "t,1,0.1,a,rpc,b,i,7",
            "t,1,0.1,a,rpc,b,i,-5",
            "t,1,0.2,a,rpc,b,i,-9",
            "t,1,0.3,a,mc,m,,0",
            "t,2,0.3,a,mc,m,,0",
            "u,1,0.1,c,rpc,b,i,0",
            "u,1,0.2,(?),rpc,b,i,3",
        ],
    )
    columns = ("upstream", "downstream", "rpc_type", "calls", "traces", "response_time_p50_ms")
    assert run(store, "calls/service_edges").select(columns).rows() == [
        ("a", "b", "rpc", 2, 1, 8.0),
        ("a", "m", "mc", 2, 1, 0.0),
        ("c", "b", "rpc", 1, 1, 0.0),
        (None, "b", "rpc", 1, 1, 3.0),
    ]
    assert run(store, "calls/upstream_weights").rows() == [
        ("b", "a", 2, pytest.approx(2 / 3)),
        ("b", "c", 1, pytest.approx(1 / 3)),
        ("m", "a", 2, 1.0),
    ]
    assert run(store, "calls/hot_services").rows() == [
        ("b", 4, pytest.approx(4 / 6), 2, 0, 0, 1),
        ("m", 2, pytest.approx(2 / 6), 1, 0, 0, 2),
        ("a", 0, 0.0, 0, 4, 2, 3),
        ("c", 0, 0.0, 0, 1, 1, 4),
        (None, 0, 0.0, 0, 1, 1, 5),
    ]


def test_rpc_types(store: Store) -> None:
    rows = records(store)
    for match in run(store, "calls/rpc_types").rows(named=True):
        mine = [row for row in rows if row["rpc_type"] == match["rpc_type"]]
        times = [number(row["response_time_ms"]) for row in mine]
        assert match["records"] == len(mine)
        assert match["record_share"] == pytest.approx(len(mine) / len(rows))
        assert match["calling_end"] == sum(time > 0 for time in times)
        assert match["called_end"] == sum(time < 0 for time in times)
        unnamed = sum(row["downstream"] is None for row in mine)
        assert match["downstream_missing_share"] == pytest.approx(unnamed / len(mine))
        assert match["response_time_p95_ms"] == pytest.approx(np.nanquantile(np.abs(times), 0.95))


def test_the_mix_of_the_real_rows(real_rows: Path, tmp_path: Path) -> None:
    """Shares of the 999 head rows, of which 77 repeat another to the letter."""
    ingest(real_rows / "MSCallGraph_0.csv", tmp_path / "store")
    rows = run(open_store(tmp_path / "store"), "calls/rpc_types")
    assert rows["records"].sum() == 922
    assert set(rows["rpc_type"]) == {"rpc", "mc", "http", "userDefined", "mq", "db"}
    called = dict(rows.select("rpc_type", "called_end").rows())
    assert [name for name, count in called.items() if count] == ["http", "mq", "rpc"]


SQL = Path(__file__).parents[3] / "queries" / "interference" / "node_neighbours.sql"

COUNT, SERVICES, SAMPLES = 400, 40, 3
#: CPU of containers on one node, ten of each service, at each sample; one is beyond any machine.
CPU = np.random.default_rng(5).uniform(size=(COUNT, SAMPLES))
CPU[7, 1] = 2e7


def found(order: IntArray) -> list[tuple[Any, ...]]:
    """The rows, where samples are stored in this order."""
    key, sample = order // SAMPLES, order % SAMPLES
    with duckdb.connect(config={"threads": 1}) as con:
        rows = pl.DataFrame({"key": key, "sample": sample, "cpu": CPU[key, sample]})
        con.register("samples", rows.to_arrow())
        con.execute(
            "CREATE TABLE container_usage_keyed AS SELECT key AS container_key, 0 AS node_key,"
            f" key % {SERVICES} AS service_key, cpu AS cpu_fraction, sample AS time_ms FROM samples"
        )
        for name in ("container", "service"):
            con.execute(
                f"CREATE TABLE {name}_id AS SELECT range AS {name}_key,"
                f" format('{name}{{:03}}', range) AS {name} FROM range({COUNT})"
            )
        con.execute("CREATE TABLE node_id AS SELECT 0 AS node_key, 'node' AS node")
        return con.sql(SQL.read_text(encoding="utf-8")).fetchall()


def test_neighbours_are_the_others_of_the_node() -> None:
    rows = found(np.arange(COUNT * SAMPLES))
    assert len(rows) == COUNT
    means = [math.fsum(row) / SAMPLES for row in CPU.tolist()]
    profiles = [math.fsum(means[at::SERVICES]) * SERVICES / COUNT for at in range(SERVICES)]
    every = math.fsum(profiles) * COUNT / SERVICES
    for at, row in enumerate(rows):
        assert row[5] == pytest.approx(means[at], rel=1e-12)
        assert row[6] == COUNT - 1
        others = every - profiles[at % SERVICES]
        assert row[7] == pytest.approx(others / (COUNT - 1), rel=1e-12)
        assert row[8] == pytest.approx(others, rel=1e-12)


def test_no_order_of_rows_changes_a_sum() -> None:
    rng = np.random.default_rng(6)
    first = found(np.arange(COUNT * SAMPLES))
    for _ in range(5):
        assert found(rng.permutation(COUNT * SAMPLES)) == first


def test_each_defect_is_counted_with_what_was_done(traces: TraceFolder, tmp_path: Path) -> None:
    node = hex_id("node", 5)
    traces.write(
        "Node_1.csv",
        NODE_HEADER,
        [
            f"0,{node},0.5,0.5",
            f"0,{node},0.5,0.5",
            f"0,{node},0.6,0.5",
            f"30000,{node},abc,0.5",
            f"60000,{node},1.5,0.5",
            f"90000,{node},0.5",
            f"99000000,{node},0.5,0.5",
        ],
    )
    ingest(traces.path, tmp_path / "store")
    ledger = run(open_store(tmp_path / "store"), "quality/ledger")
    node_rows = ledger.filter(table="node_usage").select("defect", "column", "rows", "action")
    assert node_rows.rows() == [
        ("conflicting_duplicate", "", 1, "dropped, first kept"),
        ("exact_duplicate", "", 1, "dropped, first kept"),
        ("malformed_row", "", 1, "rejected"),
        ("missing_samples", "time_ms", 1, "left as gaps"),
        ("out_of_range", "cpu_fraction", 1, "kept"),
        ("stray_time", "time_ms", 1, "kept"),
        ("unparsable_value", "cpu_fraction", 1, "rejected"),
    ]
    calls = ledger.filter(table="call").select("defect", "column", "rows", "example").rows()
    assert calls == [
        ("exact_duplicate", "", 1, "MSCallGraph_0.csv: line 6"),
        ("missing_name", "downstream", 1, "MSCallGraph_0.csv: NAN"),
        ("missing_name", "upstream", 1, "MSCallGraph_0.csv: (?)"),
        ("missing_name", "upstream", 1, "MSCallGraph_0.csv: (empty)"),
    ]


def test_a_clean_table_has_no_ledger(tmp_path: Path) -> None:
    lines = [f"{step * 30000},{hex_id('node', 0)},0.5,0.5" for step in range(5)]
    (tmp_path / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    ingest(tmp_path / "Node_0.csv", tmp_path / "store")
    assert run(open_store(tmp_path / "store"), "quality/ledger").is_empty()


def test_the_step_is_found_even_when_entities_have_one_sample_each(tmp_path: Path) -> None:
    """In the head of a real file most nodes appear once: the mode per node would be wrong."""
    times = [0, 30000, 60000, 90000, 0, 60000, 35820000]
    lines = [f"{time},{hex_id('node', at)},0.5,0.5" for at, time in enumerate(times)]
    (tmp_path / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    ingest(tmp_path / "Node_0.csv", tmp_path / "store")
    (row,) = run(open_store(tmp_path / "store"), "quality/time_grid").to_dicts()
    assert (row["step_ms"], row["time_max_ms"], row["stray_rows"]) == (30000, 90000, 1)
