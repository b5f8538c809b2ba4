"""Recorded use of network and disk: a store and a folder measure it alike, and limits see it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests_support import the

from tracekit.base.errors import TracekitError
from tracekit.base.facts import fact_of
from tracekit.cluster.source import source_of
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store

STEP_MS = 30_000
STEPS = 4
GIB = 2**30
NODES, CONTAINERS = 3, 9


def folder(path: Path, **more: list[int] | list[str]) -> Path:
    """Production puts five times the network that is asked for on its nodes, and more over time."""
    path.mkdir()
    pl.DataFrame(
        {
            "node": [f"n{at}" for at in range(NODES)],
            "cpu_milli": [8000] * NODES,
            "memory_bytes": [32 * GIB] * NODES,
            "disk_bytes": [200 * 10**9] * NODES,
            "net_kbit_per_s": [10**6] * NODES,
        }
    ).write_parquet(path / "nodes.parquet")
    at = range(CONTAINERS)
    pl.DataFrame(
        {
            "container": [f"c{one}" for one in at],
            "service": [f"s{one % 2}" for one in at],
            "node": [f"n{one % NODES}" for one in at],
            "arrival_ms": [0] * CONTAINERS,
            "departure_ms": pl.Series([None] * CONTAINERS, dtype=pl.Int64),
            "cpu_milli": [1000] * CONTAINERS,
            "memory_bytes": [GIB] * CONTAINERS,
            "disk_bytes": [10**10 * (one % 4 + 1) for one in at],
            "net_kbit_per_s": [50_000 * (one % 3 + 1) for one in at],
            **more,
        }
    ).write_parquet(path / "containers.parquet")
    rows = [
        (f"c{one}", step * STEP_MS, 500.0, 5e8, disk(one), network(one, step))
        for one in at
        for step in range(STEPS)
    ]
    names = ["container", "time_ms", "cpu_milli", "memory_bytes", "disk_bytes", "net_kbit_per_s"]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(path / "usage.parquet")
    return path


def disk(one: int) -> float | None:
    """Nothing is known of the disk of one of them."""
    return None if one == 4 else 1.4e10 * (one % 4 + 1)


def network(one: int, step: int) -> float:
    return 5 * 50_000.0 * (one % 3 + 1) * (1 + 0.1 * step)


def summary(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "summary.parquet").filter(pl.col("policy") == "observed")


def test_measures_are_what_plain_sums_say(tmp_path: Path) -> None:
    ingest(folder(tmp_path / "cluster"), tmp_path / "store")
    arguments = ("--policy", "best_fit", "--repeat", "1", "--out")
    assume = ("--assume", "arrival_span_ms=0")
    assert run(["replay", str(tmp_path / "store"), *arguments, str(tmp_path / "a"), *assume]) == 0
    every = range(CONTAINERS)
    fullest = max(
        sum(network(one, STEPS - 1) for one in every if one % NODES == node) / 10**6
        for node in range(NODES)
    )
    # of the one whose disk is not recorded what it requests counts: 10 GB
    on_disk = [
        sum(disk(one) or 10**10 for one in every if one % NODES == node) / 2e11
        for node in range(NODES)
    ]
    policy_row = summary(tmp_path / "a").row(0, named=True)
    assert policy_row["network_max_fraction"] == pytest.approx(fullest)
    assert policy_row["disk_max_fraction"] == pytest.approx(max(on_disk))
    assert policy_row["overloaded_node_steps"] == policy_row["network_overload_node_steps"] > 0
    document = json.loads((tmp_path / "a" / "manifest.json").read_text())["workload"]
    assert document["quantities"]["use of network"] == "recorded"
    assert document["quantities"]["use of disk of 1 of 9 containers"] == "assumed"
    further = the(map(fact_of, document["remarks"]), "further_use")
    assert further.about["resources"] == "disk and network"


def test_a_limit_on_network_is_on_what_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(folder(tmp_path / "cluster"))
    arguments = ("--workload", path, "--policy", "worst_fit", "--repeat", "1")
    assert run(["nodes", *arguments, "--limit", "network_max_fraction <= 0.9", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    (needed,) = (one for one in facts if one["kind"] == "nodes_needed")
    assert (needed["because"], needed["measure"]) == ("none_holds", "network_max_fraction")
    assert needed["about"]["breaks_at_fraction"] == pytest.approx(2.275, abs=1e-3)


def test_containers_without_cpu_or_memory_keep_their_network(tmp_path: Path) -> None:
    path = folder(tmp_path / "cluster")
    used = pl.read_parquet(path / "usage.parquet")
    silent = pl.col("container").is_in(["c1", "c7"])
    used.with_columns(
        pl.when(~silent).then(name).alias(name) for name in ("cpu_milli", "memory_bytes")
    ).write_parquet(path / "usage.parquet")
    ingest(path, tmp_path / "store")
    load = source_of(
        open_store(tmp_path / "store"), None, assume=("arrival_span_ms=0",), seed=0
    ).load()
    assert load.use.further is not None
    for name in ("c1", "c2", "c7"):
        its = load.use.columns_of(np.array([load.containers.ids.index(name)]))[0]
        expected = [network(int(name[1:]), step) for step in range(STEPS)]
        assert load.use.further[1, :, its].tolist() == pytest.approx(expected)


@pytest.mark.slow
def test_disk_io_that_is_a_share_counts_where_it_is_asked_for(tmp_path: Path) -> None:
    """As Alibaba's trace of 2018 has it, in percent."""
    path = tmp_path / "trace"
    path.mkdir()
    nodes, containers, seconds = range(3), range(6), (0, 10, 20)
    percent = {one: [10 * one + second for second in seconds] for one in containers}
    lines = {
        "machine_meta.csv": [f"m_{one},0,1,1,96,100,USING" for one in nodes],
        "container_meta.csv": [
            f"c_{one},m_{one % 3},0,app_{one % 2},started,400,400,1.56" for one in containers
        ],
        "container_usage.csv": [
            f"c_{one},m_{one % 3},{second},20,50,,,,0,0,{percent[one][at]}"
            for one in containers
            for at, second in enumerate(seconds)
        ],
    }
    for name, rows in lines.items():
        (path / name).write_text("".join(f"{row}\n" for row in rows))
    ingest(path, tmp_path / "store")
    load = source_of(
        open_store(tmp_path / "store"), None, assume=("disk_io=recorded",), seed=0
    ).load()
    at = load.resources.index("disk_io")
    assert set(load.nodes.capacity[:, at]) == {10**6}
    wanted = dict(zip(load.containers.ids, load.containers.request[:, at].tolist(), strict=True))
    assert wanted == {f"c_{one}": 10_000 * (10 * one + 10) for one in containers}
    assert load.use.further_resources == (at,)
    plain = source_of(open_store(tmp_path / "store"), None, assume=(), seed=0).load()
    assert "disk_io" not in plain.resources
    ingest(folder(tmp_path / "cluster"), tmp_path / "bytes")
    with pytest.raises(TracekitError, match="disk IO"):
        source_of(open_store(tmp_path / "bytes"), None, assume=("disk_io=recorded",), seed=0).load()
