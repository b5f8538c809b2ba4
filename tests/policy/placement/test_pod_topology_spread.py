"""Pod topology spread beside a loop over nodes, and what it is for: zones with as many each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from replay_support import changed, workload

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
    return changed(
        made, containers={"services": services}, nodes={"domains": domains_of({"zone": ZONES})}
    )


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
