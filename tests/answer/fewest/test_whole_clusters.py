"""The fewest nodes of real and drawn clusters: the set is replayed by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import changed, workload
from shrink_support import row, shrunk, thresholds
from tests_support import shared_data

from tracekit.answer.fewest.study import shrink_cluster
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import Entrants
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.store.folder import open_store


@pytest.mark.slow
def test_real_pods_of_openb(tmp_path: Path) -> None:
    """A part of them, through a store: never below the bound, and within the limit by itself."""
    folder = shared_data("openb")
    (tmp_path / "part").mkdir()
    for name, lines in (("openb_node_list_all_node", 201), ("openb_pod_list_default", 401)):
        text = (folder / f"{name}.csv").read_text().splitlines(keepends=True)[:lines]
        (tmp_path / "part" / f"{name}.csv").write_text("".join(text))
    ingest(tmp_path / "part", tmp_path / "store")
    assume = ["departures=none", "resources=cpu+memory", "selectors=none", "step_ms=10800000"]
    source = source_of(open_store(tmp_path / "store"), None, assume=assume, seed=0)
    limit = "cpu_max_fraction <= 1"
    result = shrink_cluster(
        source, policies=Entrants.of(["best_fit"]).chosen, limits=thresholds(limit), repeats=1
    )
    load = source.load()
    for fact in result.frames["policies"].iter_rows(named=True):
        assert fact["problem"] is None
        assert 1 < fact["bound"] <= fact["nodes"] < fact["of"] == 200
        names = result.frames["nodes"].filter("kept", policy=fact["policy"])["node"].to_list()
        assert len(names) == fact["nodes"]
        at = np.array([load.nodes.ids.index(node) for node in sorted(names)])
        row = replay_one(on_nodes(load, np.sort(at)), parse_policy(fact["policy"]), 0).row
        assert row["pending"] == 0
        assert row["cpu_max_fraction"] == fact["cpu_max_fraction"] <= 1


def check_set(load: Workload, policy: str, limit: str) -> None:
    """The fewest nodes in two orders: not below the bound, and within the limit by themselves."""
    result = shrunk(load, limit, policies=[policy], repeats=2)
    policy_row = row(result, policy)
    assert policy_row["problem"] is None
    assert (
        1
        < policy_row["bound"]
        <= policy_row["nodes_low"]
        <= policy_row["nodes"]
        < policy_row["of"]
        == load.nodes.count
    )
    names = result.frames["nodes"].filter("kept")["node"].to_list()
    assert len(names) == policy_row["nodes"]
    at = np.sort([load.nodes.ids.index(node) for node in names])
    for order in range(2):
        given = in_order(load, order) if order else load
        again = replay_one(on_nodes(given, at), parse_policy(policy), order).row
        assert again["pending"] == again["pending_container_steps"] == 0
        assert again["cpu_max_fraction"] <= policy_row["cpu_max_fraction"] <= 0.9


def test_real_machines_of_huawei() -> None:
    """A part of the servers and requests of huawei_topology25; affinity and NUMA left out."""
    folder = shared_data("huawei_topology25")
    halves = pl.read_csv(folder / "pm_res.csv").head(300).to_numpy().reshape(-1, 2, 2)
    frame = pl.read_csv(folder / "vm_data_c1.csv").head(600).select("flavor_vcpus", "flavor_ram")
    rows = [(0, 9000, cpu, memory) for cpu, memory in frame.iter_rows()]
    load = workload(halves.sum(axis=1).tolist(), rows, used_share=0.8)
    check_set(load, "best_fit", "cpu_max_fraction <= 0.9")


@pytest.mark.slow
def test_a_drawn_cluster_of_500_nodes() -> None:
    rng = np.random.default_rng(500)
    shapes = rng.choice([64, 96, 128], (500, 2))
    sizes = rng.choice([2, 4, 8, 16, 32], (1200, 2), p=[0.2, 0.3, 0.3, 0.15, 0.05])
    rows = [(0, 9000, cpu, memory) for cpu, memory in sizes.tolist()]
    load = workload(shapes.tolist(), rows, used_share=0.9)
    load = changed(load, containers={"exchangeable": np.ones(1200, dtype=np.bool_)})
    check_set(load, "best_fit", "cpu_max_fraction <= 0.9")
