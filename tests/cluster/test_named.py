"""Workloads by name or by path: each is a store, made once, and replayed as any other."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import OPENB, TIANCHI, changed, parquet_folder, written, zipped
from replay_support import fields_of
from tests_support import shared_data

from tracekit.base.errors import TracekitError
from tracekit.cluster import named
from tracekit.cluster.provenance import set_aside
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.entrant import Entrants
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.runs.run import choose_policies, replay
from tracekit.store.folder import open_store

GIB = 2**30
MIB = 2**20
TYPES = {
    (32_000, 64 * GIB, 1000 * GIB, 1_000_000), (48_000, 96 * GIB, 1500 * GIB, 2_000_000),
    (64_000, 128 * GIB, 2000 * GIB, 2_000_000), (64_000, 192 * GIB, 3000 * GIB, 1_500_000),
}  # fmt: skip


def load(text: str | Path, *assume: str, seed: int = 0) -> Workload:
    return source_of(None, text, assume=assume, seed=seed).load()


def spelled(name: str, folder: Path) -> str:
    """How to ask for a small workload of each name."""
    if name == "paper000":
        return "paper000[nodes=5,containers=50]"
    files = {"openb": OPENB, "tianchi18": TIANCHI}
    return f"{name}:{written(folder, files[name]) if name in files else parquet_folder(folder)}"


@pytest.mark.slow
@pytest.mark.parametrize("name", named.NAMED)
def test_a_name_its_path_and_a_store_of_its_files_give_one_workload(
    name: str, tmp_path: Path
) -> None:
    text = spelled(name, tmp_path / "files")
    first = load(text, seed=4)
    same = [load(text, seed=4)]
    assert (
        str(tmp_path) not in f"{first.name} {first.provenance.assumptions} {first.provenance.facts}"
    )
    if name != "paper000":
        ingest(tmp_path / "files", tmp_path / "store")
        assumed = [f"{key}={value}" for key, value in named.NAMED[name].assumed.items()]
        same.append(load(tmp_path / "files", seed=4))
        same.append(source_of(open_store(tmp_path / "store"), None, assume=assumed, seed=4).load())
    for other in same:
        assert first.containers.ids == other.containers.ids
        assert first.nodes.ids == other.nodes.ids
        for field in ("containers.request", "nodes.capacity", "containers.arrival_ms",
                      "containers.recorded_node", "use.values"):  # fmt: skip
            one, two = fields_of(first)[field], fields_of(other)[field]
            assert np.array_equal(one, two, equal_nan=field == "use.values"), field


def test_the_store_is_made_once_and_anew_where_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "files", OPENB)
    first = named.ingested(str(folder)).store
    assert first.name == "openb"
    forgotten = first.path.parents[1] / "forgotten"
    forgotten.mkdir()
    os.utime(forgotten, (0, 0))
    with monkeypatch.context() as patched:
        patched.setattr(named, "_ingest", None)
        assert named.ingested(f"openb:{folder}").store == first
    pods, line = "openb_pod_list_default.csv", "pod-b,3000,4,0,0,,LS,Running,100,401,101"
    written(folder, changed(OPENB, pods, 2, line))
    assert named.ingested(str(folder)).store != first
    assert not forgotten.exists()


def test_a_broken_row_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    files = changed(OPENB, "openb_pod_list_default.csv", 3, "pod-a,x,4,1,500,,BE,Pending,1,1,")
    for _ in range(2):
        with pytest.raises(TracekitError) as raised:
            load(f"openb:{written(tmp_path, files)}")
        assert "line 3" in raised.value.what


def test_a_store_is_no_workload(tmp_path: Path) -> None:
    ingest(written(tmp_path / "files", OPENB), tmp_path / "store")
    with pytest.raises(TracekitError) as raised:
        load(tmp_path / "store")
    assert "tracekit replay" in str(raised.value.hint)


@pytest.mark.slow
def test_settings_by_their_earlier_names(tmp_path: Path) -> None:
    folder = written(tmp_path / "openb", OPENB)
    inside = load(f"openb[gpu=count,used_share=0.5]:{folder}")
    beside = load(f"openb:{folder}", "resources=cpu+memory+gpu", "used_share=0.5")
    assert inside.resources == ("cpu_milli", "memory_bytes", "gpu_milli")
    assert inside.nodes.capacity[:, 2].tolist() == [0, 2000]
    assert inside.containers.request[:, 2].tolist() == [2000, 0, 500]
    assert inside.use.values.tolist() == beside.use.values.tolist()
    folder = written(tmp_path / "tianchi", TIANCHI)
    placed = load(f"tianchi18:{folder}", "containers=placed", "anti_affinity=none")
    assert (placed.containers.count, placed.rules.constraints) == (4, None)


def test_times_that_are_recorded_and_not_replayed_name_their_assumption(tmp_path: Path) -> None:
    folder = written(tmp_path, OPENB)
    document = load(folder).provenance.quantities
    aside = set_aside("departures=none")
    assert (document["arrivals"], document["departures"]) == (aside, aside)
    assert aside not in load(folder, "departures=recorded").provenance.quantities.values()


@pytest.mark.slow
def test_files_are_known_by_their_columns(tmp_path: Path) -> None:
    nodes, pods = OPENB.values()
    renamed = written(tmp_path / "renamed", {"x.csv": nodes, "y.csv": pods})
    assert load(renamed).name == "openb"
    archive = zipped(tmp_path / "data.zip", TIANCHI)
    assert (load(archive).name, load(archive).containers.count) == ("tianchi18", 5)


def test_sizes_of_the_paper() -> None:
    made = load("paper000")
    assert (made.nodes.count, made.containers.count) == (31, 1800)
    assert made.resources == ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit")
    assert {tuple(row) for row in made.nodes.capacity.tolist()} <= TYPES
    assert set(made.containers.services) == {"compressible", "incompressible", "balanced"}
    assert set(made.provenance.quantities.values()) == {"assumed"}
    assert len(made.too_large()) == 0


@pytest.mark.parametrize("target", [0.75, 0.85])
def test_requests_meet_the_target_and_kinds_ask_for_their_own_pair(target: float) -> None:
    made = load(f"paper000[target_alloc_fraction={target}]")
    share = made.containers.request.sum(axis=0) / made.nodes.capacity.sum(axis=0)
    assert share == pytest.approx(np.full(4, target), rel=0.05)
    each = (
        made.containers.request / made.nodes.capacity.sum(axis=0) * made.containers.count / target
    )
    kinds = np.array(made.containers.services)
    for kind, factors in (
        ("compressible", (1.5, 0.5, 0.5, 1.5)),
        ("incompressible", (0.5, 1.5, 1.5, 0.5)),
        ("balanced", (1.0, 1.0, 1.0, 1.0)),
    ):
        assert each[kinds == kind].mean(axis=0) == pytest.approx(factors, rel=0.06)


@pytest.mark.slow
def test_the_set_is_of_its_own_seed_and_the_order_of_the_run() -> None:
    def by_name(made: Workload) -> dict[str, list[int]]:
        return dict(zip(made.containers.ids, made.containers.request.tolist(), strict=True))

    first, second = load("paper000", seed=1), load("paper000", seed=2)
    assert first.containers.ids != second.containers.ids
    assert by_name(first) == by_name(second)
    assert by_name(load("paper000[seed=1]")) != by_name(first)


@pytest.mark.slow
def test_the_real_pods_of_openb() -> None:
    """AccaSim 1.1.3 places the same pods on 1,077 nodes."""
    made = load(f"openb:{shared_data('openb')}")
    assert (made.containers.count, made.nodes.count) == (8152, 1523)
    run = replay(made, choose_policies(Entrants.of(["first_fit", "best_fit"]), made), seed=0)
    used = dict(run.summary.select("policy", "nodes_used_max").iter_rows())
    assert used == {"first_fit": 1077, "best_fit": 1163, "bound": 843}
    assert demand_bound(made) == 843


@pytest.mark.slow
def test_calls_of_a_folder(tmp_path: Path) -> None:
    folder = parquet_folder(tmp_path / "mine")
    containers = pl.read_parquet(folder / "containers.parquet").with_columns(
        service=pl.Series(["b", "a", "b"])
    )
    containers.write_parquet(folder / "containers.parquet")
    with pytest.raises(TracekitError, match="near_weight"):
        source_of(None, folder, calls=True).load()
    edges = {"upstream": ["a"], "downstream": ["b"], "calls": [3.0]}
    pl.DataFrame(edges).write_parquet(folder / "calls.parquet")
    calls = source_of(None, folder, calls=True).load().rules.calls
    assert calls is not None
    assert calls.shares(0).tolist() == [0.0, 1.0]
