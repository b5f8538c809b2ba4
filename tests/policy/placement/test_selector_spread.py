"""Selector spread beside a loop over nodes, written as selector_spread.go is."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.cluster.nodes import domains_of
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine

ZONES: list[str | None] = ["a", "a", "a", "a", "b", "b", None]


def plainly(services: tuple[str, ...], zones: list[str | None]) -> list[int]:
    placed: list[int] = []
    for service in services:
        counts = [
            sum(one == node for one, who in zip(placed, services, strict=False) if who == service)
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
def test_every_pod_goes_where_a_loop_puts_it(zones: list[str | None]) -> None:
    services = tuple(np.random.default_rng(3).choice(["x", "y", "z"], 40).tolist())
    load = workload([(5000, 5000)] * 7, [(at, 90_000, 10, 10) for at in range(40)])
    known = domains_of({"zone": zones}) if any(zones) else None
    load = changed(load, containers={"services": services}, nodes={"domains": known})
    outcome = Engine(load, parse_policy("selector_spread"), np.random.default_rng(0)).run()
    assert outcome.node.tolist() == plainly(services, zones)
