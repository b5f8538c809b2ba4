"""What an ingest works out of the files: fractions of use, use of nodes, and their parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import CLUSTER, cluster, rows, stored

from tracekit.intake.ingest import ingest
from tracekit.store.checksums import damaged_parts
from tracekit.store.folder import open_store
from tracekit.store.manifest import DERIVED


def test_fractions_are_use_over_request_else_over_the_node(tmp_path: Path) -> None:
    store = stored(tmp_path)
    found = rows(store, "SELECT * FROM container_usage ORDER BY container, time_ms")
    assert len(found) == 16
    for row in found:
        time = int(str(row["time_ms"]))
        if row["container"] == "b":
            wanted = ((100 + time // 1000) / 1000, 1500 / 2000)
        else:
            wanted = (50 / 2000, 400 / 4000)
        assert (row["cpu_fraction"], row["memory_fraction"]) == pytest.approx(wanted, abs=1e-12)
        assert row["node"] == {"b": "n1", "a": "n0"}[str(row["container"])]


def test_use_of_nodes_is_the_sum_of_their_containers(tmp_path: Path) -> None:
    usage = [*CLUSTER["usage.csv"], *(f"c,{at},10,30" for at in range(60_000, 150_000, 30_000))]
    store = stored(tmp_path, {"usage.csv": usage})
    found = rows(store, "SELECT * FROM node_usage WHERE node = 'n1' ORDER BY time_ms")
    assert len(found) == 8
    for row in found:
        time = int(str(row["time_ms"]))
        more = 60_000 <= time < 150_000
        assert row["cpu_fraction"] == pytest.approx((100 + time // 1000 + 10 * more) / 4000)
        assert row["memory_fraction"] == pytest.approx((1500 + 30 * more) / 8000)


def test_what_is_worked_out_follows_the_files(tmp_path: Path) -> None:
    first = stored(tmp_path, {"containers.csv": None})
    assert not [e for e in first.manifest.sources if e.table == "container_usage" and e.rows]
    cluster(tmp_path / "cluster")
    ingest(tmp_path / "cluster", first.path)
    store = open_store(first.path)
    derived = [entry for entry in store.manifest.sources if entry.release == DERIVED]
    assert {entry.table for entry in derived} == {"container_usage", "node_usage"}
    on_disk = {path.name for path in (store.path / "tables/container_usage").iterdir()}
    assert on_disk == {path.name for path in store.table_files("container_usage")}
    assert store.manifest.quantities["use of containers"] == "recorded"


@pytest.mark.slow
def test_what_comes_out_the_same_again_stays(tmp_path: Path) -> None:
    store = stored(tmp_path)
    sql = "SELECT * FROM {} ORDER BY ALL"
    worked_out = ("container_usage", "node_usage")
    before = {table: rows(store, sql.format(table)) for table in worked_out}
    again = tmp_path / "again"
    again.mkdir()
    head, *samples = CLUSTER["usage.csv"]
    (again / "usage.csv").write_text("\n".join([head, *reversed(samples)]) + "\n")
    assert [one.file for one in ingest(again, store.path).ingested] == ["usage.csv"]
    after = open_store(store.path)
    assert {table: rows(after, sql.format(table)) for table in worked_out} == before
    assert all(before.values())


@pytest.mark.slow
def test_a_damaged_part_that_was_worked_out_is_mended(tmp_path: Path) -> None:
    store = stored(tmp_path)
    sql = "SELECT * FROM container_usage ORDER BY ALL"
    before = rows(store, sql)
    [target] = store.table_files("container_usage")
    whole = target.read_bytes()
    target.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    ingest(tmp_path / "cluster", store.path)
    after = open_store(store.path)
    assert rows(after, sql) == before
    assert not list(damaged_parts(store.path, after.manifest.sources))


@pytest.mark.slow
def test_use_may_be_far_beyond_the_request(tmp_path: Path) -> None:
    usage = ["container,time_ms,cpu_milli,memory_bytes"]
    usage += [f"b,{at},3000,8000" for at in range(0, 240_000, 30_000)]
    store = stored(tmp_path, {"usage.csv": usage})
    found = rows(store, "SELECT DISTINCT cpu_fraction, memory_fraction FROM container_usage")
    assert found == [{"cpu_fraction": 3.0, "memory_fraction": 4.0}]
