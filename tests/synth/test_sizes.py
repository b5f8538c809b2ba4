"""Sizes that are planted: their shares, their room, and that a user's tables say the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tracekit.base.units import BYTES_PER_GIB
from tracekit.synth.presets import get_preset
from tracekit.synth.services import (
    CPU_CORES,
    DISK_GIB,
    MEMORY_GIB,
    NODE_SHAPES,
    node_sizes,
    service_sizes,
)
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import World, make_world


@pytest.mark.parametrize("preset", ["tiny", "medium", "ctm21"])
def test_nodes_come_in_the_published_proportions(preset: str) -> None:
    plan = get_preset(preset)
    values = np.bincount(node_sizes(plan, Seeds(1)).shape, minlength=len(NODE_SHAPES))

    published = np.array([shape.machines for shape in NODE_SHAPES])
    expected = published / published.sum() * plan.nodes
    # as near as whole nodes can be
    assert np.abs(values - expected).max() <= 1


@pytest.mark.parametrize(
    ("column", "unit", "shares"),
    [(0, 1000, CPU_CORES), (1, BYTES_PER_GIB, MEMORY_GIB), (2, BYTES_PER_GIB, DISK_GIB)],
)
def test_containers_come_in_the_stated_shares(
    column: int, unit: int, shares: dict[int, float]
) -> None:
    """Where no service is large: one service is all or nothing."""
    containers = np.full(5_000, 3)
    sizes = service_sizes(Seeds(4), containers, ["rpc"] * 5_000)
    drawn = sizes.limit[:, column] // unit

    for size, share in shares.items():
        assert (drawn == size).mean() == pytest.approx(share / sum(shares.values()), abs=2e-3)


def test_cpu_and_memory_agree_in_rank() -> None:
    sizes = service_sizes(Seeds(5), np.ones(4_000, dtype=np.int64), ["rpc"] * 4_000)
    cpu, memory = sizes.limit[:, 0], sizes.limit[:, 1]
    assert memory[cpu == 16_000].mean() > 1.2 * memory[cpu == 1_000].mean()


def test_some_services_ask_for_half_of_their_limits() -> None:
    sizes = service_sizes(Seeds(6), np.ones(1_000, dtype=np.int64), ["gateway"] * 1_000)
    half = (2 * sizes.request[:, :2] == sizes.limit[:, :2]).all(axis=1)
    same = (sizes.request[:, :2] == sizes.limit[:, :2]).all(axis=1)
    assert half.mean() == pytest.approx(0.3, abs=1e-9)
    assert (half | same).all()
    assert (sizes.request[:, 2:] == sizes.limit[:, 2:]).all()


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_what_runs_on_a_node_fits_it(seed: int) -> None:
    world = make_world(dataclasses.replace(get_preset("small"), room=False), Seeds(seed))
    used = np.zeros_like(world.node_sizes.capacity)
    np.add.at(used, world.containers.node, world.service_sizes.request[world.containers.service])
    assert (used <= world.node_sizes.capacity).all()
    # scarce enough that placing is a question
    assert 0.4 < used[:, 0].sum() / world.node_sizes.capacity[:, 0].sum() < 0.7


def test_the_tables_beside_the_archives_say_what_was_planted(
    tiny: Path, tiny_truth: dict[str, pl.DataFrame]
) -> None:
    nodes = pl.read_csv(tiny / "sizes" / "nodes.csv")
    containers = pl.read_csv(tiny / "sizes" / "containers.csv")

    planted = tiny_truth["node"].join(nodes, left_on="node_id", right_on="node", validate="1:1")
    assert planted.height == nodes.height == 12
    assert (planted["cpu_cores"] * 1000 == planted["cpu_milli"]).all()
    assert (planted["memory_gib"] * BYTES_PER_GIB == planted["memory_bytes"]).all()
    rows = containers.join(
        tiny_truth["service"], left_on="service", right_on="service_id", validate="m:1"
    )
    assert rows.height == tiny_truth["container"].height == 80
    assert (rows["cpu_limit_cores"] * 1000 == rows["cpu_limit_milli"]).all()
    assert (rows["memory_request_gib"] * BYTES_PER_GIB == rows["memory_bytes"]).all()
    truth = tiny_truth["container"].join(
        containers, left_on="container_id", right_on="container", validate="1:1"
    )
    assert truth["node"].equals(truth["node_id"], check_names=False)
    assert truth["arrival_ms"].equals(truth["first_ms"], check_names=False)


def test_a_world_knows_what_part_of_its_node_a_container_may_use(small_world: World) -> None:
    service, node = small_world.containers.service, small_world.containers.node
    share = small_world.node_share(0)
    assert share[5] == (
        small_world.service_sizes.limit[service[5], 0] / small_world.node_sizes.capacity[node[5], 0]
    )
