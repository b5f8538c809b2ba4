"""The 2022 release: its wide table becomes one row for each measure, and ids tell it from 2021."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from tests_support import csv_text, hex_id

from tracekit.intake.ingest import ingest
from tracekit.intake.read.discover import discover
from tracekit.store.folder import open_store
from tracekit.store.query import Database

HEADER = (
    "timestamp,msname,msinstanceid,nodeid,providerrpc_rt,providerrpc_mcr,consumerrpc_rt,"
    "consumerrpc_mcr,writemc_rt,writemc_mcr,readmc_rt,readmc_mcr,writedb_rt,writedb_mcr,"
    "readdb_rt,readdb_mcr,consumermq_rt,consumermq_mcr,providermq_rt,providermq_mcr,http_mcr,"
    "http_rt"
)
FULL = (
    "60000,MS_73317,MS_73317_POD_1797,NODE_3619,10.5,1.2e-05,9.9,7.1e-12,0.0,0.0,0.4,3.1e-07,"
    "0.0,0.0,0.9,6.0e-06,0.0,0.0,24.4,2.0e-06,0.0,0.0"
)
FEW = "0,MS_1,MS_1_POD_0,NODE_1,7.5," + "," * 15 + "0.25,"
BROKEN = "0,MS_1,MS_1_POD_1,NODE_1,abc," + "," * 15 + "0.25,"
REMOTE = ("providerRPC", "consumerRPC", "writeMC", "readMC", "writeDB", "readDB")
PAIRS = [
    f"{call}_{what}" for call in (*REMOTE, "consumerMQ", "providerMQ") for what in ("RT", "MCR")
]
IN_FILE = [*PAIRS, "HTTP_MCR", "HTTP_RT"]
CALLS = "timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt"


def test_a_wide_table_goes_into_a_store(tmp_path: Path) -> None:
    (tmp_path / "MCRRT_0.csv").write_text(csv_text(HEADER, [FULL, FEW, FULL, BROKEN]))
    (entry,) = ingest(tmp_path / "MCRRT_0.csv", tmp_path / "store").ingested
    assert (entry.release, entry.table) == ("ctm22", "service_rate")
    assert (entry.rows, entry.rejected, entry.duplicates_dropped) == (20, 1, 18)
    assert entry.rows_read == 39
    with Database(open_store(tmp_path / "store")) as database:
        rows = database.rows("SELECT * FROM service_rate WHERE metric = 'HTTP_MCR' ORDER BY ALL")
        names = "SELECT metric, value FROM service_rate WHERE time_ms = 60000"
        full = database.frame(names)
    assert [(row["time_ms"], row["service"], row["value"]) for row in rows] == [
        (0, "MS_1", 0.25),
        (60000, "MS_73317", 0.0),
    ]
    expected = [float(value) for value in FULL.split(",")[4:]]
    assert dict(full.rows()) == dict(zip(IN_FILE, expected, strict=True))


def test_a_broken_cell_breaks_its_line_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "MCRRT_0.csv").write_text(csv_text(HEADER, [FEW, BROKEN]))
    ingest(tmp_path / "MCRRT_0.csv", tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        (reject,) = database.rows("SELECT * FROM reject")
        assert database.scalar("SELECT count(*) FROM service_rate") == 2
    assert (reject["line"], reject["column"]) == (3, "providerRPC_RT")
    assert "'abc'" in reject["reason"]


def test_a_wide_table_in_parquet_is_read_too(tmp_path: Path) -> None:
    columns = HEADER.split(",")
    values: list[object] = [60000, "MS_1", "MS_1_POD_0", "NODE_1", *[0.5] * 18]
    frame = pl.DataFrame([dict(zip(columns, values, strict=True))])
    frame.write_parquet(tmp_path / "m.parquet")
    (entry,) = ingest(tmp_path / "m.parquet", tmp_path / "store").ingested
    assert (entry.table, entry.rows) == ("service_rate", 18)


def test_the_same_header_is_2021_or_2022_by_its_ids(tmp_path: Path) -> None:
    header = "timestamp,nodeid,cpu_utilization,memory_utilization"
    (tmp_path / "a.csv").write_text(csv_text(header, ["60000,NODE_12,0.2,0.3"]))
    (tmp_path / "b.csv").write_text(csv_text(header, [f"30000,{hex_id('node', 0)},0.2,0.3"]))
    found = discover(tmp_path).files
    assert [file.match.source.name for file in found] == ["ctm22", "ctm21"]


def test_calls_with_users_and_unknown_ends_go_into_a_store(tmp_path: Path) -> None:
    lines = [
        "115352,T_1,S_1,0,http,USER,,/a,MS_1,MS_1_POD_0,2.0",
        "115353,T_1,S_1,0.1,rpc,MS_1,MS_1_POD_0,/b,UNKNOWN,UNAVAILABLE,1.0",
        "115354,T_1,S_1,0.2,UNKNOWN,MS_1,MS_1_POD_0,UNKNOWN,UNAVAILABLE,,0.5",
    ]
    (tmp_path / "CallGraph_0.csv").write_text(csv_text(CALLS, lines))
    (entry,) = ingest(tmp_path / "CallGraph_0.csv", tmp_path / "store").ingested
    assert (entry.release, entry.table, entry.rows, entry.rejected) == ("ctm22", "call", 3, 0)
    missing = {(d.column, d.example): d.rows for d in entry.defects}
    assert missing == {
        ("upstream", "USER"): 1,
        ("downstream", "UNKNOWN"): 1,
        ("downstream", "UNAVAILABLE"): 1,
        ("rpc_type", "UNKNOWN"): 1,
    }
    with Database(open_store(tmp_path / "store")) as database:
        rows = database.rows("SELECT upstream, downstream FROM call ORDER BY time_ms")
    assert [tuple(row.values()) for row in rows] == [
        (None, "MS_1"),
        ("MS_1", None),
        ("MS_1", None),
    ]
