"""Pod topology spread beside a loop over nodes, and what it is for: zones with as many each."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from replay_support import workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.nodes import domains_of
from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import rows_placer

ZONES: list[str | None] = ["a", "a", "a", "a", "b", "b", None]


def load(services: tuple[str, ...]) -> Workload:
    rows = [(at, 90_000, 10, 10) for at in range(len(services))]
    made = workload([(5000, 5000)] * len(ZONES), rows)
    return dataclasses.replace(made, services=services, domains=domains_of({"zone": ZONES}))


def plainly(services: tuple[str, ...], constraints: dict[str, int]) -> list[int]:
    """As scoring.go goes: pod by pod, node by node, topology by topology."""
    placed: list[int] = []
    for service in services:
        raw = []
        for node in range(len(ZONES)):
            score = 0.0
            for by, skew in constraints.items():
                same = [
                    other
                    for other, who in zip(placed, services, strict=False)
                    if who == service
                    and (other == node if by == "node" else ZONES[other] == ZONES[node])
                ]
                if by == "zone" and ZONES[node] is None:
                    continue
                sizes = {"node": len(ZONES), "zone": len({z for z in ZONES if z})}
                score += len(same) * math.log(sizes[by] + 2) + (skew - 1)
            raw.append(math.floor(score + 0.5))
        high, low = max(raw), min(raw)
        final = [100 if high == 0 else 100 * (high + low - one) // high for one in raw]
        placed.append(final.index(max(final)))
    return placed


@pytest.mark.parametrize("constraints", [{"node": 3, "zone": 5}, {"zone": 1}, {"node": 1}])
def test_every_pod_goes_where_a_loop_puts_it(constraints: dict[str, int]) -> None:
    services = tuple(np.random.default_rng(2).choice(["x", "y", "z"], 40).tolist())
    text = "+".join(f"{by}:{skew}" for by, skew in constraints.items())
    policy = parse_policy(f"pod_topology_spread[constraints={text}]")
    wanted = plainly(services, constraints)
    for placer in (PlainPlacer, rows_placer):
        outcome = Engine(load(services), policy, np.random.default_rng(0), placer=placer).run()
        assert outcome.node.tolist() == wanted


def test_zones_hold_as_many_of_a_service() -> None:
    policy = parse_policy("pod_topology_spread[constraints=zone:1,every_domain=true]")
    node = Engine(load(("x",) * 20), policy, np.random.default_rng(0)).run().node
    assert Counter(ZONES[at] for at in node.tolist()) == {"a": 10, "b": 10}


def test_a_container_of_no_service_has_no_peers() -> None:
    policy = parse_policy("pod_topology_spread")
    node = Engine(load(("?",) * 5), policy, np.random.default_rng(0)).run().node
    assert node.tolist() == [0] * 5


@pytest.mark.parametrize("constraints", ["planet:1", "zone:0"])
def test_constraints_that_are_none_are_told(constraints: str) -> None:
    with pytest.raises(TracekitError, match="node, rack, domain, zone"):
        parse_policy(f"pod_topology_spread[constraints={constraints}]")
