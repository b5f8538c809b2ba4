"""Policies that look at the network and the disk act on what a workload has, and say what not."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import Row, changed, workload

from tracekit.cluster.resources import column_of, lacking
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine

NODES, EACH = 4, 6


def with_resource(name: str) -> Workload:
    """Alike in cpu and memory; every fourth container asks for much of one more resource."""
    rows: list[Row] = [(at, 9000, 1000, 1000) for at in range(NODES * EACH)]
    load = workload([(64_000, 64_000)] * NODES, rows)
    asked = np.where(np.arange(load.containers.count) % NODES == 0, 100, 10)[:, None]
    return changed(
        load,
        nodes={"capacity": np.column_stack([load.nodes.capacity, np.full(NODES, 1000)])},
        containers={
            "request": np.column_stack([load.containers.request, asked]),
            "nonzero_request": np.column_stack([load.containers.nonzero_request, asked]),
            "limit": np.column_stack([load.containers.limit, asked]),
        },
        resources=(*load.resources, name),
    )


def width(load: Workload, policy: str) -> float:
    """Most less least asked of the last resource over nodes, as a share of what a node has."""
    node = Engine(load, parse_policy(policy), np.random.default_rng(0)).run().node
    asked = np.bincount(node, load.containers.request[:, -1], NODES) / load.nodes.capacity[0, -1]
    return float(np.ptp(asked))


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ("bnp", ("net_kbit", "net")),
        ("bdi", ("disk_io_bytes", "disk_io")),
        ("cmdn[mode=fixed,balanced=true]", ("net_kbit", "net")),
    ],
)
def test_what_there_is_is_kept_level_under_any_of_its_names(
    policy: str, names: tuple[str, ...]
) -> None:
    """The audit's finding: without the resource they placed as if all nodes were alike."""
    for name in names:
        load = with_resource(name)
        assert width(load, policy) < 0.5 * width(load, "least_allocated"), name


def test_a_resource_goes_by_several_names() -> None:
    assert column_of(("cpu_milli", "net"), "net_kbit") == 1
    assert column_of(("net", "net_kbit"), "net_kbit") == 1
    assert column_of(("cpu_milli",), "net_kbit") is None
    assert lacking(("net_kbit", "disk_io_bytes"), ("disk_io",)) == ["net_kbit"]
