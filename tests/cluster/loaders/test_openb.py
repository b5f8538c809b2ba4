"""openb: what its two files become, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests_support import shared_data
from workload_support import OPENB, written, zipped

from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.loaders import load_workload
from tracekit.cluster.workload import Workload
from tracekit.replay.bounds.nodes import linear_bound, volume_bound
from tracekit.replay.runs.run import choose_policies, replay

MIB = 2**20
NODES, PODS = OPENB


def load(path: Path, *assume: str) -> Workload:
    return load_workload(f"openb:{path}", stream(0, "workload"), assume=assume)


def test_pods_in_order_of_creation(tmp_path: Path) -> None:
    made = load(written(tmp_path, OPENB), "step_ms=100000")
    assert made.container_ids == ("pod-c", "pod-b", "pod-a")
    assert made.arrival_ms.tolist() == [50_000, 100_000, 100_000]
    assert made.times_ms.tolist() == [50_000, 150_000]
    assert made.departure_ms.tolist() == [250_000] * 3
    assert made.capacity.tolist() == [[4000, 8 * MIB], [8000, 16 * MIB]]
    assert made.request.tolist() == [[1000, 2 * MIB], [3000, 4 * MIB], [2000, 4 * MIB]]
    assert made.usage[:, 1].T.tolist() == made.request.astype(np.float32).tolist()
    assert not made.recorded
    assert made.assumptions["departures"] == "none"
    assert made.exchangeable is not None
    assert made.exchangeable.all()


def test_with_recorded_departures(tmp_path: Path) -> None:
    made = load(written(tmp_path, OPENB), "departures=recorded", "step_ms=100000")
    assert made.departure_ms.tolist() == [90_000, 400_000, 100_001]
    assert made.times_ms.tolist() == [50_000, 150_000, 250_000, 350_000, 450_000]
    assert made.facts == {"containers_of_no_duration": 1}
    assert made.exchangeable is not None
    assert not made.exchangeable.any()


def test_gpus_are_counted_when_asked(tmp_path: Path) -> None:
    made = load(written(tmp_path, OPENB), "gpu=count", "used_share=0.5")
    assert made.resources == ("cpu_milli", "memory_bytes", "gpu_milli")
    assert made.capacity[:, 2].tolist() == [0, 2000]
    assert made.request[:, 2].tolist() == [2000, 0, 500]
    assert made.usage[0, 0].tolist() == [500.0, 1500.0, 1000.0]


def test_files_are_found_by_their_columns(tmp_path: Path) -> None:
    plain = load(written(tmp_path / "plain", OPENB))
    renamed = written(tmp_path / "renamed", {"x.csv": OPENB[NODES], "y.csv": OPENB[PODS]})
    archive = zipped(tmp_path / "openb.zip", {**OPENB, "notes.txt": ["no table"]})
    for path in (renamed, archive):
        made = load_workload(str(path), stream(0, "workload"))
        assert made.name == "openb"
        assert made.request.tolist() == plain.request.tolist()


def test_of_several_lists_one_is_chosen(tmp_path: Path) -> None:
    more = {**OPENB, "openb_pod_list_cpu100.csv": OPENB[PODS][:2]}
    assert load(written(tmp_path, more)).containers == 3
    assert load(tmp_path, "pods=cpu100").containers == 1
    with pytest.raises(TracekitError, match="holds 2 lists of pods: openb_pod_list_cpu100"):
        load(tmp_path, "pods=cpu7")


@pytest.fixture(scope="module")
def real() -> Workload:
    return load(shared_data("openb"))


def test_real_sizes(real: Workload) -> None:
    assert (real.containers, real.nodes) == (8152, 1523)
    assert real.facts == {"containers_of_no_duration": 1}


def test_real_first_fit_agrees_with_another_simulator(real: Workload) -> None:
    """AccaSim 1.1.3 places the same pods on 1,077 nodes."""
    run = replay(real, choose_policies(["first_fit"], real), seed=0)
    row = run.summary.row(0, named=True)
    assert (row["nodes_used_max"], row["pending"]) == (1077, 0)
    assert row["nodes_used_max_gap"] == 1077 - 843


def test_real_bound(real: Workload) -> None:
    assert volume_bound(real.request, real.capacity) == 843
    assert linear_bound(real.request, real.capacity) == 843


def test_what_is_not_replayed_though_recorded_names_its_assumption(tmp_path: Path) -> None:
    files = written(tmp_path, OPENB)
    known = load(files).quantities
    aside = "recorded, but set aside by"
    assert {known["arrivals"], known["departures"]} == {f"{aside} departures=none"}
    assert known["requests: gpu_milli"] == f"{aside} gpu=ignore"
    whole = load(files, "departures=recorded", "gpu=count").quantities
    assert not any(kind.startswith(aside) for kind in whole.values())
