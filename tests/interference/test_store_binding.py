"""A store that records vCPUs is fitted as the same rows in a file are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import polars.testing
import pytest

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.interference.run import Fit
from tracekit.interference.topology import parse_cpu_list


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up trace whose monitoring rows are the tables of a store, too."""
    folder = tmp_path_factory.mktemp("bound")
    tracekit.synth(folder / "trace", preset="tiny", seed=3)
    tracekit.ingest(folder / "trace", folder / "plain")
    rows = monitoring(folder).with_columns(pl.lit(0).alias("time_ms"))
    (folder / "tables").mkdir()
    tables = {
        "container": rows.select(
            "time_ms",
            pl.col("instance_id").alias("container"),
            "service",
            pl.col("node_ip").alias("node"),
            pl.col("cpu_list").alias("vcpus"),
        ),
        "container_usage": rows.select(
            "time_ms",
            "service",
            pl.col("instance_id").alias("container"),
            pl.lit(None, pl.String).alias("node"),
            pl.col("cpu_util").alias("cpu_fraction"),
            pl.lit(0.5).alias("memory_fraction"),
        ),
        "node_resource": rows.select(
            "time_ms",
            pl.col("node_ip").alias("node"),
            pl.lit("cpu").alias("resource"),
            pl.lit(None, pl.String).alias("cell"),
            cores(folder, rows).alias("amount"),
            pl.lit("cores").alias("unit"),
        ).unique("node", maintain_order=True),
    }
    for name, table in tables.items():
        table.write_parquet(folder / "tables" / f"{name}.parquet")
    tracekit.ingest(folder / "tables", folder / "store")
    return folder


def monitoring(folder: Path) -> pl.DataFrame:
    truth = folder / "trace" / "truth"
    rows = pl.read_csv(truth / "monitoring.csv", schema_overrides={"cpu_list": pl.String})
    services = pl.read_parquet(truth / "binding.parquet").select(
        pl.col("container_id").alias("instance_id"), pl.col("service_id").alias("service")
    )
    return rows.join(services, on="instance_id", how="left", maintain_order="left")


def cores(folder: Path, rows: pl.DataFrame) -> pl.Series:
    sizes = pl.read_csv(folder / "trace" / "truth" / "topology.csv")
    found = rows.join(sizes, on="node_ip", how="left", maintain_order="left")
    return found["cpu_num_total"].cast(pl.Float64)


def by_file(folder: Path) -> Fit:
    truth = folder / "trace" / "truth"
    return tracekit.fit(
        folder / "plain", binding=truth / "monitoring.csv", topology=truth / "topology.csv"
    )


def test_the_fit_is_that_of_the_same_rows_in_a_file(folder: Path) -> None:
    expected, found = by_file(folder), tracekit.fit(folder / "store")
    assert found.mode == "bound"
    assert found.rejects.is_empty()
    assert found.rows.height == expected.rows.height > 0
    pl.testing.assert_frame_equal(found.fitted.pooled, expected.fitted.pooled)
    pl.testing.assert_frame_equal(found.fitted.services, expected.fitted.services)


def test_a_topology_file_and_another_rule_are_heard(folder: Path) -> None:
    topology = folder / "trace" / "truth" / "topology.csv"
    same = tracekit.fit(folder / "store", topology=topology)
    pl.testing.assert_frame_equal(same.fitted.pooled, tracekit.fit(folder / "store").fitted.pooled)
    apart = tracekit.fit(folder / "store", threads_per_core=1)
    assert apart.rows["cpu_sc"].fill_nan(0).fill_null(0).sum() == 0


def test_use_is_of_the_vcpus_not_of_the_request(folder: Path, tmp_path: Path) -> None:
    rows = monitoring(folder)
    requests = rows.select(
        pl.lit(0).alias("time_ms"),
        pl.col("instance_id").alias("container"),
        pl.lit("cpu").alias("resource"),
        # every container asks for half of what it is bound to
        (vcpus(rows) / 2).alias("request"),
        pl.lit(None, pl.Float64).alias("limit"),
        pl.lit("cores").alias("unit"),
    )
    tables = tmp_path / "tables"
    tables.mkdir()
    for path in (folder / "tables").iterdir():
        (tables / path.name).write_bytes(path.read_bytes())
    requests.write_parquet(tables / "container_resource.parquet")
    tracekit.ingest(tables, tmp_path / "store")
    half, whole = tracekit.fit(tmp_path / "store"), tracekit.fit(folder / "store")
    assert half.rows["cpu"].sum() == pytest.approx(whole.rows["cpu"].sum() / 2)


def vcpus(rows: pl.DataFrame) -> pl.Series:
    return pl.Series([float(len(parse_cpu_list(text))) for text in rows["cpu_list"]])


def test_a_store_without_vcpus_still_wants_both_files(folder: Path) -> None:
    topology = folder / "trace" / "truth" / "topology.csv"
    with pytest.raises(TracekitError):
        tracekit.fit(folder / "plain", topology=topology)
    assert tracekit.fit(folder / "plain").mode == "proxy"


def test_hosts_that_no_row_fits_are_refused(folder: Path) -> None:
    with pytest.raises(TracekitError):
        tracekit.fit(folder / "store", sockets=500)


@pytest.mark.slow
def test_a_store_without_services_says_so(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "nodes.csv").write_text("node,cpu_milli,memory_bytes\nn1,8000,64e9\n")
    (made / "containers.csv").write_text(
        "container,node,arrival_ms,cpu_milli,memory_bytes\na,n1,0,500,1e9\nb,n1,0,500,1e9\n"
    )
    use = [f"{who},{at * 60_000},100,1e6" for at in range(9) for who in "ab"]
    (made / "usage.csv").write_text("\n".join(["container,time_ms,cpu_milli,memory_bytes", *use]))
    tracekit.ingest(made, tmp_path / "store")
    with pytest.raises(TracekitError):
        tracekit.fit(tmp_path / "store")
