"""Node profiles against golden numbers and a plain numpy computation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests_support import NODE_HEADER, TraceFolder, csv_text

from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run


def store_of(tmp_path: Path, series: dict[str, tuple[list[float], list[float]]]) -> Store:
    lines = [
        f"{step * 30000},{node},{cpu!r},{memory!r}"
        for node, (cpus, memories) in series.items()
        for step, (cpu, memory) in enumerate(zip(cpus, memories, strict=True))
    ]
    (tmp_path / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    ingest(tmp_path / "Node_0.csv", tmp_path / "store")
    return open_store(tmp_path / "store")


# Six samples a node; r is exact arithmetic on them, worked out by hand or, for n1, by numpy.
SERIES = {
    "n1": ([0.6, 0.5, 0.7, 0.4, 0.3, 0.5], [0.7, 0.72, 0.68, 0.75, 0.78, 0.73]),
    "n3": ([0.5, 0.6, 0.5, 0.6, 0.5, 0.6], [0.7, 0.7, 0.71, 0.71, 0.7, 0.71]),
    "n4": ([0.5, 0.6, 0.55, 0.45, 0.62, 0.58], [0.6] * 6),
}
EXPECTED = {
    "n1": ("A", "strong", -0.99339926779878),
    "n3": ("C", "low", 1 / 3),
    "n4": ("U", "undefined", None),
}


def test_zones_strengths_and_correlations(tmp_path: Path) -> None:
    rows = run(store_of(tmp_path, SERIES), "usage/node_profile", {"min_samples": 6})
    for row in rows.iter_rows(named=True):
        zone, strength, r = EXPECTED[row["node"]]
        assert (row["zone"], row["strength"]) == (zone, strength)
        assert row["pearson_r"] == (None if r is None else pytest.approx(r, abs=1e-9))


def test_every_number_agrees_with_numpy(tmp_path: Path) -> None:
    rng = np.random.Generator(np.random.PCG64(7))
    series = {
        f"node{at}": (rng.beta(25, 10.7, 300).tolist(), (0.7 + 0.001 * rng.random(300)).tolist())
        for at in range(8)
    }
    rows = run(store_of(tmp_path, series), "usage/node_profile")
    assert rows.height == 8
    for row in rows.iter_rows(named=True):
        cpu, memory = (np.array(values) for values in series[row["node"]])
        expected = {
            "samples": 300,
            "cpu_mean": cpu.mean(),
            "cpu_median": np.median(cpu),
            "cpu_std": cpu.std(),
            "cpu_max": cpu.max(),
            "memory_mean": memory.mean(),
            "memory_median": np.median(memory),
            "memory_std": memory.std(),
            "memory_max": memory.max(),
            "pearson_r": np.corrcoef(cpu, memory)[0, 1],
            "util_diff": np.abs(cpu - memory).mean(),
            "debris": (1 - (np.minimum(cpu, 1) + np.minimum(memory, 1)) / 2).mean(),
        }
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, abs=1e-9), name


def test_nodes_with_few_samples_have_no_zone(tmp_path: Path) -> None:
    rows = run(store_of(tmp_path, SERIES), "usage/node_profile")
    assert set(rows["zone"]) == {"too_short"}
    assert rows["pearson_r"].null_count() == rows.height


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> Store:
    """Three nodes: one in zone A, one in C, one with constant memory."""
    ingest(traces.path, tmp_path / "store")
    return open_store(tmp_path / "store")


def test_zone_summary(store: Store) -> None:
    rows = run(store, "usage/zone_summary").select("zone", "nodes", "memory_mean").rows()
    # memory of node 0 is 0.9 - 0.01 k, of node 1 0.4 + 0.02 k, over k = 0 1 2 3 4 0 1 2 3 4 0 1
    assert [(zone, nodes) for zone, nodes, _ in rows] == [("A", 1), ("C", 1), ("U", 1)]
    assert [mean for *_, mean in rows] == pytest.approx([0.9 - 0.21 / 12, 0.4 + 0.42 / 12, 0.7])


def test_util_diff_by_zone_counts_every_node_once(store: Store) -> None:
    rows = run(store, "usage/util_diff_by_zone", {"bin_width": 0.1})
    assert rows["nodes"].sum() == 3
    profile = run(store, "usage/node_profile")
    for zone, util_diff in profile.select("zone", "util_diff").rows():
        starts = rows.filter(zone=zone)["bin_start"].to_list()
        assert any(start <= util_diff < start + 0.1 for start in starts)


def test_the_typical_node_of_a_zone_is_one_of_it(store: Store) -> None:
    typical = run(store, "usage/typical_nodes").select("zone", "node").rows()
    assert set(typical) == set(run(store, "usage/node_profile").select("zone", "node").rows())


def test_the_series_of_a_node(store: Store) -> None:
    node = run(store, "usage/node_profile")["node"][0]
    series = run(store, "usage/node_series", {"node": node})
    assert series["time_ms"].to_list() == [step * 30000 for step in range(12)]
