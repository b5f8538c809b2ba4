"""How many of each kind stay, against replays of every choice; with containers that are pinned."""

from __future__ import annotations

import dataclasses
import itertools
import sys

import numpy as np
import pytest
from replay_support import Row, workload

from tracekit.answer.fewest.search.by_kind import lighter
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.search.trials import COST, NODES, Trials
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import replay_one
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.workload import Workload

SHAPES = ((100, 60), (60, 100), (140, 140))
PRICES = (3.0, 2.0, 5.0)
LIMIT = 0.9


def drawn(rng: np.random.Generator) -> tuple[Workload, list[list[int]]]:
    """5 to 7 nodes of three kinds: a daemon on most, some pinned to a node, the others free."""
    of_kind = np.sort(np.append([0, 1, 2], rng.integers(0, 3, int(rng.integers(2, 5)))))
    nodes = len(of_kind)
    pins: list[int] = [node for node in range(nodes) if rng.random() < 0.7]
    daemons = len(pins)
    pins += rng.integers(0, nodes, int(rng.integers(0, 3))).tolist()
    pins += [-1] * int(rng.integers(2, 7))
    rows: list[Row] = [
        (0, 9000, *rng.integers(2, 12 if at < daemons else 45, 2).tolist())
        for at in range(len(pins))
    ]
    load = dataclasses.replace(
        workload([SHAPES[kind] for kind in of_kind], rows, used_share=1.0),
        pinned=np.array(pins),
        daemon=np.arange(len(pins)) < daemons,
        price_per_hour=np.array([PRICES[kind] for kind in of_kind]),
    )
    return load, [np.flatnonzero(of_kind == kind).tolist() for kind in range(3)]


@pytest.mark.parametrize("by", [NODES, COST])
@pytest.mark.parametrize("seed", range(12))
def test_the_lightest_of_all_choices_that_hold_is_found(
    seed: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every weight and every choice of it may be replayed, so that nothing excuses a miss."""
    module = sys.modules[lighter.__module__]
    monkeypatch.setattr(module, "_LIGHTEST", 1000)
    monkeypatch.setattr(module, "_OF_A_WEIGHT", 1000)
    rng = np.random.default_rng(seed)
    load, kinds = drawn(rng)
    name = ("first_fit", "best_fit", "least_allocated")[seed % 3]
    policy, limits = parse_policy(name), parse_limits([f"cpu_max_fraction <= {LIMIT}"], [name])
    each = np.ones(load.nodes) if by == NODES else np.asarray(load.price_per_hour)

    def holds(kept: list[int]) -> bool:
        made = replay_one(on_nodes(load, np.array(sorted(kept))), policy, 0).row
        return not made["pending"] and made["cpu_max_fraction"] <= LIMIT

    weights = [
        float(each[kept].sum())
        for counts in itertools.product(*(range(len(kind) + 1) for kind in kinds))
        for kept in [
            [node for kind, count in zip(kinds, counts, strict=True) for node in kind[:count]]
        ]
        if kept and len(kept) < load.nodes and holds(kept)
    ]
    found = lighter(Trials(load, policy, limits, 0), np.arange(load.nodes), [0], by)
    if not weights:
        assert found is None
        return
    assert found is not None
    kept = found[0].place[: found[1]].tolist()
    assert holds(kept)
    assert each[kept].sum() == pytest.approx(min(weights))
