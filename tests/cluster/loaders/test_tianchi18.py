"""Tianchi 2018: what its four files become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests_support import shared_data
from workload_support import TIANCHI, changed, written, zipped

from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.constraints.sharing import Sharing
from tracekit.cluster.loaders import load_workload
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.measures import bound_steps
from tracekit.replay.bounds.nodes import linear_bound

GIB = 2**30
STEP = 900_000


def load(path: Path, *assume: str, seed: int = 0) -> Workload:
    return load_workload(f"tianchi18:{path}", stream(seed, "workload"), assume=assume)


def of(made: Workload, container: str) -> int:
    return made.container_ids.index(container)


def test_all_of_it_is_read(tmp_path: Path) -> None:
    made = load(written(tmp_path, TIANCHI), "arrival=start")
    assert made.times_ms.tolist() == [0, STEP, 2 * STEP]
    assert made.node_ids == ("machine_1", "machine_2", "machine_3")
    assert made.resources == ("cpu_milli", "memory_bytes", "disk_bytes", "p", "pm")
    assert made.capacity[2].tolist() == [8000, 16 * GIB, 200 * GIB, 7, 9]
    assert sorted(made.container_ids) == [f"inst_{at}" for at in range(1, 6)]
    first, third = of(made, "inst_1"), of(made, "inst_3")
    assert made.services[first] == "app_1"
    assert made.request[first].tolist() == [1250, 2 * GIB, 40 * GIB, 0, 0]
    assert made.request[third].tolist() == [2000, 4 * GIB, round(60.5 * GIB), 1, 1]
    assert made.usage[0, :, first].tolist() == [500.0, 1250.0, 250.0]
    assert made.usage[1, :, first].tolist() == [GIB, GIB, 2 * GIB]
    assert [made.recorded_node[of(made, f"inst_{at}")] for at in range(1, 6)] == [0, 0, 2, -1, 1]
    assert made.facts == {
        "containers_without_recorded_node": 1, "anti_affinity_rules": 2,
        "anti_affinity_broken_by_recorded": 0,
    }  # fmt: skip
    assert made.constraints is not None
    (sharing,) = made.constraints.parts
    assert isinstance(sharing, Sharing)
    assert sharing.limits.services == ("app_1", "app_2")
    assert sharing.limits.rules.tolist() == [[0, 0, 1], [0, 1, 0]]


def test_assumptions_change_it(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    placed = load(tmp_path, "containers=placed", "anti_affinity=none", "request=mean")
    assert placed.containers == 4
    assert placed.recorded_node.min() == 0
    assert placed.constraints is None
    assert placed.request[of(placed, "inst_1"), 0] == 667  # 2/3 core, rounded up
    assert placed.assumptions["request"] == "mean"


def test_arrivals_are_spread_in_a_drawn_order(tmp_path: Path) -> None:
    written(tmp_path, TIANCHI)
    made = load(tmp_path, "arrival_span_ms=1000")
    assert made.arrival_ms.tolist() == [0, 200, 400, 600, 800]
    assert made.settled_ms == 800
    assert load(tmp_path, seed=0).container_ids == made.container_ids
    others = {load(tmp_path, seed=seed).container_ids for seed in range(5)}
    assert len(others) > 1


def test_a_zip_or_a_folder_is_recognised(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "data.zip", TIANCHI)
    folder = written(tmp_path / "renamed", {f"{at}.csv": lines for at, lines
                                            in enumerate(TIANCHI.values())})  # fmt: skip
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "data.zip").write_bytes(archive.read_bytes())
    for path in (archive, folder, inside):
        made = load_workload(str(path), stream(0, "workload"))
        assert (made.name, made.containers) == ("tianchi18", 5)


def test_rules_that_production_broke_are_counted(tmp_path: Path) -> None:
    files = changed(TIANCHI, "app_interference.csv", 1, "app_1,app_1,0")
    assert load(written(tmp_path, files)).facts["anti_affinity_broken_by_recorded"] == 1


def test_a_damaged_zip(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "data.zip", TIANCHI)
    archive.write_bytes(archive.read_bytes()[:-60])
    with pytest.raises(TracekitError, match="is not a Tianchi 2018 data set"):
        load(archive)


@pytest.fixture(scope="module")
def real() -> Workload:
    return load(shared_data("tianchi18"))


def test_real_sizes(real: Workload) -> None:
    assert (real.containers, real.nodes, len(real.times_ms)) == (68_224, 6000, 98)
    assert int((real.recorded_node >= 0).sum()) == 61_254
    assert len(set(real.services)) <= 9338
    assert real.facts["anti_affinity_rules"] == 33_416
    assert real.facts["anti_affinity_broken_by_recorded"] == 0
    assert len(real.too_large()) == 0


def test_real_recorded_nodes_are_never_overloaded(real: Workload) -> None:
    placed = real.recorded_node >= 0
    for resource in range(2):
        for step in range(0, 98, 7):
            use = np.bincount(
                real.recorded_node[placed], real.usage[resource, step, placed], real.nodes
            )
            assert (use <= real.capacity[:, resource] * (1 + 1e-5)).all()


def test_real_bounds(real: Workload) -> None:
    """Requests at the peak of the curves need 2,951 nodes; demand itself 0.31 to 0.55 of CPU."""
    assert linear_bound(real.request, real.capacity) == 2951
    rows = bound_steps(real)
    assert max(row["nodes_used"] for row in rows) == 2951
    peak = max(row["cpu_max_fraction"] for row in rows)
    assert 0.5 < peak < 0.6
