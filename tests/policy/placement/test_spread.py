"""Pod topology spread and selector spread beside loops over nodes, as the Go files go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.cluster.parts import domains_of
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


def of_constraints(services: tuple[str, ...], constraints: dict[str, int]) -> list[int]:
    """As scoring.go goes: pod by pod, node by node, topology by topology."""
    placed: list[int] = []
    for service in services:
        raw = []
        for node in range(len(ZONES)):
            score = 0.0
            for by, skew in constraints.items():
                same = [
                    other
                    for other, other_service in zip(placed, services, strict=False)
                    if other_service == service
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
def test_constraints_spread_as_a_loop_does(constraints: dict[str, int]) -> None:
    services = tuple(np.random.default_rng(2).choice(["x", "y", "z"], 40).tolist())
    text = "+".join(f"{by}:{skew}" for by, skew in constraints.items())
    policy = parse_policy(f"pod_topology_spread[constraints={text}]")
    wanted = of_constraints(services, constraints)
    for placer in (PlainPlacer, rows_placer):
        outcome = Engine(load(services), policy, np.random.default_rng(0), placer=placer).run()
        assert outcome.node.tolist() == wanted


def of_selectors(services: tuple[str, ...], zones: list[str | None]) -> list[int]:
    placed: list[int] = []
    for service in services:
        counts = [
            sum(
                one == node
                for one, other_service in zip(placed, services, strict=False)
                if other_service == service
            )
            for node in range(len(zones))
        ]
        by_zone: dict[str, int] = {}
        for node, zone in enumerate(zones):
            if zone is not None:
                by_zone[zone] = by_zone.get(zone, 0) + counts[node]
        scores = []
        for node, zone in enumerate(zones):
            score = 100.0
            if max(counts) > 0:
                score = 100.0 * ((max(counts) - counts[node]) / max(counts))
            if zone is not None:
                most = max(by_zone.values())
                of_zone = 100.0 * ((most - by_zone[zone]) / most) if most else 100.0
                score = score * (1.0 - 2.0 / 3.0) + 2.0 / 3.0 * of_zone
            scores.append(int(score))
        placed.append(scores.index(max(scores)))
    return placed


@pytest.mark.parametrize("zones", [ZONES, [None] * 7, list("abcabca")])
def test_selectors_spread_as_a_loop_does(zones: list[str | None]) -> None:
    services = tuple(np.random.default_rng(3).choice(["x", "y", "z"], 40).tolist())
    load = workload([(5000, 5000)] * 7, [(at, 90_000, 10, 10) for at in range(40)])
    domains = domains_of({"zone": zones}) if any(zones) else None
    load = changed(load, containers={"services": services}, nodes={"domains": domains})
    outcome = Engine(load, parse_policy("selector_spread"), np.random.default_rng(0)).run()
    assert outcome.node.tolist() == of_selectors(services, zones)
