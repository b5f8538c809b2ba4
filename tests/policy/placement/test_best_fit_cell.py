"""Best fit by cell, by hand and on real requests; first fit beside it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from replay_support import Row, changed, workload
from tests_support import shared_data

from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer

GIB = 2**30


def with_cells(nodes: list[list[tuple[int, int]]], asked: list[tuple[int, int, int]]) -> Workload:
    """Nodes of cells of (cpu_milli, memory_bytes); containers of cpu, memory, numa_cells."""
    capacity = np.array(nodes, dtype=np.int64)
    whole = [(int(cpu), int(memory)) for cpu, memory in capacity.sum(axis=1)]
    rows: list[Row] = [(0, 9000, cpu, memory) for cpu, memory, _ in asked]
    load = workload(whole, rows, steps=1)
    numa = np.array([one[2] for one in asked], dtype=np.int64)
    cells = Cells(capacity=capacity, request=load.containers.request, numa_cells=numa)
    return changed(load, rules={"constraints": Constraints(parts=(cells,))})


def placed(load: Workload, policy: str, placer: MakePlacer = rows_placer) -> list[int]:
    engine = Engine(load, parse_policy(policy), np.random.default_rng(0), placer=placer)
    return [int(node) for node in engine.run().node]


#: cells of nodes, containers, and where first fit and best fit by cell put them
CASES = {
    "one cell, not the sum of two": (
        [[(4, 9), (4, 9)], [(8, 9), (0, 0)]], [(6, 1, 1)], [1], [1]),
    "half on each of two": ([[(4, 9), (1, 9)], [(3, 9), (3, 9)]], [(4, 2, 2)], [1], [1]),
    "memory counts": ([[(8, 1), (8, 1)], [(8, 2), (8, 2)]], [(1, 2, 1), (1, 4, 2)], [1, -1],
                      [1, -1]),
    "the fullest cell, wherever": (
        [[(8, 9), (8, 9)], [(9, 9), (5, 9)]], [(4, 1, 1)], [0], [1]),
    "the whole node for two cells": (
        [[(9, 9), (9, 9)], [(8, 9), (9, 9)]], [(4, 1, 2)], [0], [1]),
    "who is bound to none takes room all the same": (
        [[(4, 9), (4, 9)]], [(4, 1, 0), (3, 1, 1), (3, 1, 1)], [0, 0, -1], [0, 0, -1]),
    "who is bound to none may lie over both": (
        [[(4, 9), (4, 9)]], [(6, 1, 0), (2, 1, 1), (1, 1, 1)], [0, 0, -1], [0, 0, -1]),
    "ties go to the first": ([[(5, 9), (5, 9)]] * 2, [(4, 1, 1)] * 3, [0, 0, 1], [0, 0, 1]),
    "the tight cell first": ([[(8, 9), (4, 9)]], [(4, 1, 1), (8, 1, 1)], [0, -1], [0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("placer", [PlainPlacer, rows_placer, fast_placer])
@pytest.mark.parametrize(("nodes", "asked", "first", "best"), CASES.values(), ids=CASES)
def test_where_it_goes(
    nodes: list[list[tuple[int, int]]], asked: list[tuple[int, int, int]], first: list[int],
    best: list[int], placer: MakePlacer,
) -> None:  # fmt: skip
    load = with_cells(nodes, asked)
    assert placed(load, "first_fit", placer) == first
    assert placed(load, "best_fit_cell", placer) == best


@pytest.mark.parametrize(("sequence", "waiting"), [("c1", 5), ("c2", 0), ("c3", 64)])
def test_real_requests_on_real_cells(sequence: str, waiting: int) -> None:
    """With NUMA respected and affinity left out first fit places all, best fit leaves some."""
    folder = shared_data("huawei_topology25")
    nodes = pl.read_csv(folder / "pm_res.csv").to_numpy().reshape(-1, 2, 2)
    asked = pl.read_csv(folder / f"vm_data_{sequence}.csv").select(
        pl.col("flavor_vcpus", "flavor_ram", "numa").cast(pl.Int64)
    )
    unit = np.array([1000, GIB])
    load = with_cells(
        (nodes * unit).tolist(),
        [(cpu * 1000, memory * GIB, numa) for cpu, memory, numa in asked.iter_rows()],
    )
    assert load.containers.count == 4998
    assert placed(load, "first_fit").count(-1) == 0
    assert placed(load, "best_fit_cell").count(-1) == waiting
