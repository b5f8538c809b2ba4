"""Queries on services: their use and their requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import store_of
from kubernetes_support import answer, container, listed, node, pod, series, written
from usage_support import STEP_MS, random_usage, usage_store

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run

MINUTES = 30
IDLE, PER_CALL = 0.05, 0.004


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Service 'calls': CPU is exactly IDLE + PER_CALL * calls/s; 'web' reports HTTP only."""
    rng = np.random.Generator(np.random.PCG64(2))
    rates, usage = [], []
    for number, (name, service, metric) in enumerate(
        [
            ("a", "calls", "providerRPC_MCR"),
            ("b", "calls", "providerRPC_MCR"),
            ("w", "web", "HTTP_MCR"),
        ]
    ):
        calls = rng.uniform(5, 50, MINUTES + 1)
        for minute in range(MINUTES + 1):
            at = minute * 60_000
            rates.append((at, service, name, metric, calls[minute]))
            rates.append((at, service, name, "consumerRPC_MCR", 2 * calls[minute]))
            rates.append((at, service, name, metric.replace("MCR", "RT"), 3.0))
            for time_ms in (at - STEP_MS, at):
                cpu = IDLE + PER_CALL * calls[minute]
                usage.append((time_ms, service, name, f"n{number}", cpu, 0.6))
    names = ["time_ms", "service", "container"]
    return usage_store(
        tmp_path_factory.mktemp("services"),
        rates=pl.DataFrame(rates, schema=[*names, "metric", "value"], orient="row"),
        containers=pl.DataFrame(
            [row for row in usage if row[0] >= 0],
            schema=[*names, "node", "cpu", "memory"],
            orient="row",
        ),
    )


def test_what_a_call_costs(store: Store) -> None:
    replayed = run(store, "services/demand")
    assert replayed.select("service", "metric", "rate_containers", "minutes").rows() == [
        ("calls", "providerRPC_MCR", 2, MINUTES + 1),
        ("web", "HTTP_MCR", 1, MINUTES + 1),
    ]
    assert replayed["cpu_per_call"].to_list() == pytest.approx([PER_CALL] * 2, abs=1e-9)
    assert replayed["cpu_idle"].to_list() == pytest.approx([IDLE] * 2, abs=1e-9)
    assert replayed["r_squared"].to_list() == pytest.approx([1, 1], abs=1e-9)
    for rate, container_rate, containers in replayed.select(
        "rate_mean", "container_rate_mean", "rate_containers"
    ).rows():
        assert rate == pytest.approx(container_rate * containers)


def test_few_minutes_or_constant_use_give_no_regression(store: Store, tmp_path: Path) -> None:
    few = run(store, "services/demand", {"min_minutes": MINUTES + 2})
    assert few["cpu_per_call"].null_count() == few["r_squared"].null_count() == 2
    times = [minute * 60_000 for minute in range(20)]
    same = pl.DataFrame({"time_ms": times, "service": "s", "container": "c"})
    rates = same.with_columns(
        metric=pl.lit("providerRPC_MCR"), value=pl.int_range(pl.len()).cast(pl.Float64)
    )
    usage = same.with_columns(node=pl.lit("n"), cpu=pl.lit(0.2), memory=pl.lit(0.5))
    flat = run(usage_store(tmp_path, rates=rates, containers=usage), "services/demand")
    assert flat.select("minutes", "cpu_per_call", "cpu_idle", "r_squared").rows() == [
        (20, None, None, None)
    ]


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, pl.DataFrame]:
    nodes, rows = random_usage(np.random.Generator(np.random.PCG64(8)), containers=40)
    level = pl.col("service").str.slice(1).cast(pl.Int64) * 0.1
    rows = rows.with_columns(pl.col("cpu") * 0.1 + level)
    folder = tmp_path_factory.mktemp("alike")
    return usage_store(folder, nodes=nodes, containers=rows), rows


def test_containers_of_a_service(containers: tuple[Store, pl.DataFrame]) -> None:
    store, rows = containers
    means = rows.group_by("service", "container").agg(pl.col("cpu").mean())
    for row in run(store, "services/profile").iter_rows(named=True):
        own = means.filter(service=row["service"])["cpu"].to_numpy()
        assert row["containers"] == len(own)
        assert row["nodes"] == rows.filter(service=row["service"])["node"].n_unique()
        assert row["cpu_mean"] == pytest.approx(own.mean(), abs=1e-9)
        assert row["cpu_cv"] == pytest.approx(own.std() / own.mean(), abs=1e-9)


def test_how_alike_containers_are(containers: tuple[Store, pl.DataFrame]) -> None:
    store, rows = containers
    means = rows.group_by("service", "container").agg(pl.col("cpu").mean())
    centred = means.with_columns(own=pl.col("cpu").mean().over("service"))
    whole = float(np.var(means["cpu"].to_numpy()))
    between = float(np.var(centred["own"].to_numpy()))
    policy_row = run(store, "services/alikeness").row(0, named=True)
    assert (policy_row["resource"], policy_row["services"], policy_row["containers"]) == (
        "cpu",
        4,
        40,
    )
    assert policy_row["between_share"] == pytest.approx(between / whole, abs=1e-9)
    assert run(store, "services/alikeness", {"min_containers": 11}).height == 0


def test_placement_of_a_chosen_service(containers: tuple[Store, pl.DataFrame]) -> None:
    store, rows = containers
    replayed = run(store, "services/placement", {"service": "s2"})
    edges = rows.filter(service="s2").select("container", "node").unique().sort(pl.all())
    assert replayed.select("container", "node").rows() == edges.rows()
    # of services with ten containers each, the first by id
    assert set(run(store, "services/placement")["service"]) == {"s0"}


GIB = 2**30


@pytest.fixture(scope="module")
def query_rows(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """One service runs throughout, one for half of the time, one requests nothing."""
    folder = tmp_path_factory.mktemp("requests")
    files = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", f"n,64000,{64 * GIB}"],
        "containers.csv": [
            "container,service,node,arrival_ms,cpu_milli,memory_bytes",
            f"a1,a,n,0,4000,{8 * GIB}",
            f"a2,a,n,0,2000,{4 * GIB}",
            f"b1,b,n,0,8000,{2 * GIB}",
            "c1,c,n,0,,",
        ],
        "usage.csv": [
            "time_ms,container,cpu_milli,memory_bytes",
            *(f"{at * 60_000},a1,1000,{2 * GIB}" for at in range(4)),
            *(f"{at * 60_000},a2,2000,{3 * GIB}" for at in range(4)),
            *(f"{at * 60_000},b1,2000,{3 * GIB}" for at in range(2)),
            *(f"{at * 60_000},c1,5000,{3 * GIB}" for at in range(4)),
        ],
    }
    store = store_of(folder, files)
    return run(store, "services/requests")


def test_amounts_are_weighted_by_time_and_summed_over_containers(query_rows: pl.DataFrame) -> None:
    rows = {row["service"]: row for row in query_rows.to_dicts()}
    assert set(rows) == {"a", "b"}
    assert rows["a"]["containers"] == 2
    assert rows["a"]["cpu_requested_cores"] == pytest.approx(6)
    assert rows["a"]["cpu_unused_cores"] == pytest.approx(3)
    assert rows["a"]["memory_unused_gib"] == pytest.approx(7)
    assert rows["b"]["cpu_requested_cores"] == pytest.approx(4)
    assert rows["b"]["cpu_unused_cores"] == pytest.approx(3)
    assert rows["b"]["memory_unused_gib"] == pytest.approx(-0.5)


def test_a_sample_that_two_files_hold_counts_once(tmp_path: Path) -> None:
    """Files of days that overlap: a pod of 2 cores was said to request 2.5."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    pods = pod("web-1", nodeName="n1", containers=[container("2")])
    written(folder / "cluster.json", listed(node("n1"), pods))
    for day, minutes in ((1, range(3)), (2, range(2, 4))):
        values = [(1_767_225_600 + 60 * at, 0.5) for at in minutes]
        one = series(None, values, namespace="default", pod="web-1")
        written(folder / f"container_cpu_in_use-{day}.json", answer(one))
    ingest(folder, tmp_path / "store")
    (row,) = run(open_store(tmp_path / "store"), "services/requests").to_dicts()
    assert row["cpu_requested_cores"] == pytest.approx(2)
    assert row["cpu_used_cores"] == pytest.approx(0.5)
