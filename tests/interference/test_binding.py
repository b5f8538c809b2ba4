from __future__ import annotations

from pathlib import Path

import polars as pl
import polars.testing
import pytest

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.interference.binding import Binding, read_binding
from tracekit.interference.run import Fit
from tracekit.interference.topology import (
    Topologies,
    linux_numbering,
    parse_cpu_list,
    read_topologies,
)

HEADER = "instance_id,node_ip,cpu_list,cpu_util,service"


def read(folder: Path, lines: list[str], header: str = HEADER) -> Binding:
    file = folder / "binding.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    topologies = Topologies()
    topologies["h"] = linux_numbering(16, 2)
    topologies["g"] = linux_numbering(8, 1, 1)
    return read_binding(file, topologies, {"known": "s"})


GOOD = 'a,h,"0-1,8",0.5,s'


def test_sound_rows_become_places(tmp_path: Path) -> None:
    binding = read(tmp_path, [GOOD, "b,g,7,0.25,t", "known,h,4,1.5,"])
    assert binding.rejects.is_empty()
    assert binding.room.hosts == ("g", "h")
    assert binding.rows["service"].to_list() == ["s", "t", "s"]
    assert binding.place.tolist() == [8, 9, 16, 7, 12]
    assert binding.rows.select("first", "vcpus").rows() == [(0, 3), (3, 1), (4, 1)]


BAD = {
    "vCPU 1 of 'h' belongs to 'a' already": "b,h,1,0.5,s",
    "cpu_list lies across sockets 0, 1": 'b,h,"2,4",0.5,s',
    "host 'x' is not in the topology file": "b,x,2,0.5,s",
    "vCPU 16 is out of range: the host has 16, ids 0 to 15": "b,h,16,0.5,s",
    "names a vCPU twice": 'b,h,"2,2",0.5,s',
    "'q' in cpu_list 'q' is no vCPU id or range": "b,h,q,0.5,s",
    "cpu_list is empty": "b,h,,0.5,s",
    "cpu_util is 'much', expected a number from 0 to 2": "b,h,2,much,s",
    "cpu_util is '2.5', expected a number": "b,h,2,2.5,s",
    "cpu_util is 'nan', expected a number": "b,h,2,nan,s",
    "cpu_util is 0, expected more": "b,h,2,0,s",
    "its service is not known": "b,h,2,0.5,",
    "instance_id or node_ip is empty": ",h,2,0.5,s",
    "'a' stands twice at time 0 ms": "a,h,2,0.5,s",
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_row_goes_with_its_reason(reason: str, tmp_path: Path) -> None:
    binding = read(tmp_path, [GOOD, BAD[reason], 'z,h,"3,11",0.5,s'])
    assert binding.rows["instance"].to_list() == ["a", "z"]
    assert binding.rejects.height == 1
    assert binding.rejects["line"].to_list() == [3]
    assert reason in binding.rejects["reason"][0]


def test_of_overlapping_rows_the_first_stays_and_a_rejected_one_takes_nothing(
    tmp_path: Path,
) -> None:
    rows = ["a,h,0-1,0.5,s", "b,h,1-2,0.5,s", "c,h,2-3,0.5,s"]
    assert read(tmp_path, rows).rows["instance"].to_list() == ["a", "c"]


def test_times_apart_may_share_vcpus(tmp_path: Path) -> None:
    header = "instance_id,node_ip,cpu_list,cpu_util,service,time_ms,load"
    binding = read(
        tmp_path, ["a,h,0,0.5,s,0,1.5", "b,h,0,0.5,s,60000,", "a,h,1,0.5,s,60000,2"], header
    )
    assert binding.rejects.is_empty()
    assert binding.rows["time_ms"].to_list() == [0, 60000, 60000]
    assert binding.rows["load"].to_list() == [1.5, None, 2.0]


def test_a_parquet_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "binding.parquet"
    pl.DataFrame(
        {"instance_id": ["a"], "node_ip": ["h"], "cpu_list": ["0,8"], "cpu_util": [0.5],
         "service": ["s"]}
    ).write_parquet(file)  # fmt: skip
    topologies = Topologies(linux_numbering(16, 2))
    assert read_binding(file, topologies).place.tolist() == [0, 8]


def topologies(folder: Path, text: str) -> Topologies:
    (folder / "hosts.csv").write_text(text)
    return read_topologies(folder / "hosts.csv")


def test_a_topology_file_has_a_row_per_host(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("# CPU,Core,Socket\n0,0,0\n1,0,0\n2,1,1\n3,1,1\n")
    hosts = topologies(
        tmp_path,
        "node_ip,cpu_num_total,socket_num,threads_per_core,map\na,16,2,,\nb,8,2,1,\nc,,,,odd.txt\n",
    )
    assert hosts["a"].siblings(0).tolist() == [8]
    assert hosts["b"].siblings(0).tolist() == []
    assert hosts["c"].siblings(0).tolist() == [1]
    assert hosts.of("nobody") is None


def test_a_map_alone_holds_for_every_host(tmp_path: Path) -> None:
    hosts = topologies(tmp_path, "# CPU,Core,Socket\n0,0,0\n1,0,0\n")
    host = hosts.of("any")
    assert host is not None
    assert host.siblings(0).tolist() == [1]


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
    joined = rows.join(sizes, on="node_ip", how="left", maintain_order="left")
    return joined["cpu_num_total"].cast(pl.Float64)


def by_file(folder: Path) -> Fit:
    truth = folder / "trace" / "truth"
    return tracekit.fit(
        folder / "plain", binding=truth / "monitoring.csv", topology=truth / "topology.csv"
    )


def test_the_fit_is_that_of_the_same_rows_in_a_file(folder: Path) -> None:
    expected, of_store = by_file(folder), tracekit.fit(folder / "store")
    assert of_store.mode == "bound"
    assert of_store.rejects.is_empty()
    assert of_store.rows.height == expected.rows.height > 0
    pl.testing.assert_frame_equal(of_store.fitted.pooled, expected.fitted.pooled)
    pl.testing.assert_frame_equal(of_store.fitted.services, expected.fitted.services)


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
    use = [f"{name},{at * 60_000},100,1e6" for at in range(9) for name in "ab"]
    (made / "usage.csv").write_text("\n".join(["container,time_ms,cpu_milli,memory_bytes", *use]))
    tracekit.ingest(made, tmp_path / "store")
    with pytest.raises(TracekitError):
        tracekit.fit(tmp_path / "store")
