"""Nodes that are lost: who is evicted, where it goes, in both engines; and gangs' clocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from cluster_support import parquet_folder
from replay_support import Row, changed, workload
from tests_support import causes

from tracekit.answer.caveats import counted
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.circumstances import split_settings, with_assumptions
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.parts import domains_of
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.engine.steps import Outcome
from tracekit.replay.fast.choose import rows_placer
from tracekit.replay.measures import find_measure
from tracekit.replay.measures.use import EMPTY
from tracekit.replay.runs.run import replay

T = TypeVar("T")


def run(load: Workload, policy: str = "first_fit", placer: MakePlacer = PlainPlacer) -> Outcome:
    entrant = parse_entrant(policy)
    placement, rebalance = entrant.placement, entrant.rebalance
    rng = np.random.default_rng(0)
    return Engine(load, placement, rng, placer=placer, rebalance=rebalance).run()


def happening(load: Workload, *assume: str, seed: int = 0) -> Workload:
    return with_assumptions(load, split_settings(assume)[0], np.random.default_rng(seed))


def test_a_lost_node_is_closed_to_a_container_that_a_rule_allows_there() -> None:
    load = workload([(100, 100)] * 3, [(0, 9000, 40, 40)], steps=6)
    anywhere = Allowed(label="taints", of=np.array([0]), mask=np.array([[True, False, True]]))
    load = changed(load, rules={"constraints": Constraints(parts=(anywhere,))})
    for make in (PlainPlacer, rows_placer):
        assert run(happening(load, "lost=n0@2s"), placer=make).node.tolist() == [2]


def test_after_a_loss_a_higher_priority_still_evicts_from_the_nodes_that_are_left() -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 80, 80), (3000, 9000, 80, 80)], steps=6)
    load = changed(load, rules={"priority": np.array([0, 1]), "preemption": True})
    outcome = run(happening(load, "lost=n1@2s"))
    assert outcome.node[1] == 0
    assert outcome.taken_off.preempted.tolist() == [0]


def four() -> Workload:
    """Three nodes of room for two; four containers, two on each of the first two."""
    load = workload([(20, 20)] * 3, [(0, 9000, 10, 10, 0) for _ in range(4)], steps=6)
    return changed(load, nodes={"domains": domains_of({"zone": ["a", "b", "b"]})})


class Logged(Engine):
    """Writes down who starts, who stops and why."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.log: list[tuple[int, str]] = []
        start, self._why = self.state.start, "move"

        def started(index: int, node: int, now: int) -> None:
            self.log.append((index, "runs"))
            start(index, node, now)

        self.state.start = started  # type: ignore[method-assign]

    def _depart(self, now: int) -> bool:
        return self._because("departs", lambda: super(Logged, self)._depart(now))

    def _lose(self, now: int) -> bool:
        return self._because("loss", lambda: super(Logged, self)._lose(now))

    def _preempt(self, now: int) -> None:
        self._because("priority", lambda: super(Logged, self)._preempt(now))

    def _because(self, why: str, do: Callable[[], T]) -> T:
        before, self._why = self._why, why
        done = do()
        self._why = before
        return done

    def _stop(self, indices: IntArray) -> None:
        self.log += [(index, self._why) for index in indices.tolist()]
        super()._stop(indices)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("policy", ["first_fit", "first_fit+load_spread[interval_ms=1000]"])
def test_who_found_no_other_node_is_who_did_not_run_again(policy: str, seed: int) -> None:
    """Against the last thing that a log of every start and stop says of each container."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = [
        (int(at), int(at + life), int(cpu), 1)
        for at, life, cpu in zip(
            np.sort(rng.integers(0, 5000, 40)), rng.integers(500, 9000, 40),
            rng.integers(10, 60, 40), strict=True,
        )
    ]  # fmt: skip
    load = happening(workload([(100, 100)] * 5, rows, steps=8), "lost=2@2s,n4@4s", seed=seed)
    load = changed(load, rules={"priority": rng.integers(0, 3, 40), "preemption": True})
    entrant = parse_entrant(policy)
    placement, rebalance = entrant.placement, entrant.rebalance
    engine = Logged(load, placement, np.random.default_rng(0), rebalance=rebalance)
    outcome, last = engine.run(), dict(engine.log)
    results = (
        outcome.taken_off.unplaced_after_loss.tolist(),
        outcome.taken_off.unplaced_after_eviction.tolist(),
    )
    assert results == tuple(
        sorted(index for index, what in last.items() if what == why) for why in ("loss", "priority")
    )
    ends = [last.get(index) in {"runs", "departs"} for index in range(load.containers.count)]
    assert (outcome.node >= 0).tolist() == ends
    fast = run(load, policy, rows_placer)
    assert fast.taken_off.unplaced_after_loss.tolist() == results[0]
    assert fast.taken_off.unplaced_after_eviction.tolist() == results[1]


def test_measures_of_losses_are_there_only_where_nodes_are_lost() -> None:
    assert "evicted_by_loss" not in replay(four(), [parse_entrant("first_fit")], seed=0).summary


def test_production_lost_no_nodes_and_has_no_row() -> None:
    load = happening(four(), "lost=1@50%")
    assert four().containers.recorded
    assert not load.containers.recorded
    assert load.provenance.assumptions["lost"] == "1@50%"
    assert load.provenance.facts["nodes_lost"] == 1


def test_a_count_is_drawn_by_the_seed() -> None:
    runs = [happening(four(), "lost=1@1s", seed=seed).nodes.losses for seed in range(20)]
    drawn = {tuple(one.node) for one in runs if one}
    assert drawn == {(0,), (1,), (2,)}
    again = [happening(four(), "lost=2@1s", seed=3).nodes.losses for _ in range(2)]
    assert again[0].node.tolist() == again[1].node.tolist()  # type: ignore[union-attr]


def test_daemons_and_background_go_with_their_node() -> None:
    base = four()
    load = changed(
        base,
        use={"background": np.ones_like(base.use.background)},
        rules={"pinned": np.array([0, 0, -1, 1]), "daemon": np.array([True, False, False, True])},
    )
    lost = happening(load, "lost=n0@2s")
    assert lost.use.background[0, :, 0].tolist() == [1, 1, 0, 0, 0, 0]
    assert lost.containers.departure_ms[0] == 2000
    outcome = run(lost)
    assert outcome.taken_off.evicted.tolist() == [1]
    assert outcome.node[1] == 2


@pytest.mark.parametrize(
    "policy",
    ["least_allocated", "random", "default_scheduler", "1*pod_topology_spread+1*best_fit",
     "first_fit+low_node_utilization[interval_ms=1000]", "first_fit+load_spread[interval_ms=1000]"],
)  # fmt: skip
def test_both_engines_agree_and_nothing_is_on_a_lost_node(policy: str) -> None:
    rng = np.random.default_rng(5)
    rows: list[Row] = [
        (int(at), int(at + life), int(cpu), int(memory))
        for at, life, cpu, memory in zip(
            rng.integers(0, 5000, 60), rng.integers(500, 9000, 60),
            rng.integers(1, 30, 60), rng.integers(1, 30, 60), strict=True,
        )
    ]  # fmt: skip
    load = happening(workload([(100, 100)] * 8, rows, steps=8), "lost=2@2s,n5@4s")
    plain, other = (run(load, policy, placer) for placer in (PlainPlacer, rows_placer))
    assert plain.node.tolist() == other.node.tolist()
    assert plain.steps.to_dicts() == other.steps.to_dicts()
    losses = load.nodes.losses
    assert losses is not None
    for node, when in zip(losses.node.tolist(), losses.time_ms.tolist(), strict=True):
        present = (plain.node == node) & (load.containers.departure_ms > when)
        waits = np.isin(np.arange(load.containers.count), plain.taken_off.unplaced_after_loss)
        assert (plain.time_ms[present & ~waits] < when).sum() == 0


@pytest.mark.parametrize(
    "text",
    ["n9@1s", "1", "n0@", "n0@soon", "n0@1h", "zone:c@1s", "3@1s", "zone:a@1s,zone:b@2s"],
)
def test_a_loss_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(TracekitError):
        happening(four(), f"lost={text}")


def test_a_gang_that_steps_back_is_not_tried_until_its_time() -> None:
    """Room is made at 2 s; the gang that failed at 0 s is tried again at 5 s."""
    rows: list[Row] = [(0, 2000, 20, 20), (0, 9000, 20, 20), (0, 9000, 20, 20)]
    load = workload([(20, 20)] * 2, rows, steps=8)
    load = changed(load, rules={"gang": np.array([-1, 0, 0])})
    assert run(load).time_ms.tolist() == [0, 2000, 2000]
    later = changed(load, rules={"gang_backoff_ms": 5000})
    assert run(later).time_ms.tolist() == [0, 5000, 5000]
    assert run(later, placer=rows_placer).time_ms.tolist() == [0, 5000, 5000]


def test_patience_is_about_gangs() -> None:
    pair = changed(four(), rules={"gang": np.array([0, 0, -1, -1])})
    assert happening(pair, "gang_wait=60s").rules.gang_wait_ms == 60_000
    assert happening(pair, "gang_backoff=1m").provenance.assumptions["gang_backoff_ms"] == 60_000
    with pytest.raises(TracekitError):
        happening(four(), "gang_wait=60s")


def test_that_lost_nodes_count_as_empty_ones_is_a_note_of_the_run(tmp_path: Path) -> None:
    """Seven living nodes all equally full had a spread, and no word told why."""
    folder = parquet_folder(tmp_path / "load")
    load = source_of(None, folder, assume=["lost=n0@0%"]).load()
    assert load.provenance.facts["nodes_empty_while_away"] == 1
    assert "nodes_empty_while_away" in causes(counted(load.provenance.facts))
    spread = find_measure("cpu_spread_mean_fraction")
    assert spread is not None
    assert EMPTY in spread.formula
    assert "nodes_empty_while_away" not in source_of(None, folder).load().provenance.facts


def test_what_finds_no_other_node_waits_and_is_counted() -> None:
    load = happening(four(), "lost=zone:b@2s")
    outcome = run(load)
    assert outcome.steps["pending"].to_list() == [0, 0, 2, 2, 2, 2]
    assert outcome.taken_off.unplaced_after_loss.tolist() == [2, 3]
    row = replay(load, [parse_entrant("first_fit")], seed=0).summary.row(0, named=True)
    assert (row["evicted_by_loss"], row["unplaced_after_loss"]) == (2, 2)


@pytest.mark.parametrize("placer", [PlainPlacer, rows_placer])
def test_who_waits_until_it_departs_found_no_other_node(placer: MakePlacer) -> None:
    """c1 waits from 2 s until it leaves at 4 s; c2 finds room once c0 left; c3 waits to the end."""
    rows: list[Row] = [(0, 5000, 10, 1), (0, 4000, 10, 1), (0, 9000, 10, 1), (1, 9000, 10, 1)]
    load = happening(workload([(10, 10), (30, 30)], rows, steps=7), "lost=n1@2s")
    outcome = run(load, placer=placer)
    assert outcome.taken_off.evicted.tolist() == [1, 2, 3]
    assert outcome.taken_off.unplaced_after_loss.tolist() == [1, 3]
    # who found no other node has none, so that the table of a run shows what its headline names
    assert outcome.node.tolist() == [0, -1, 0, -1]
    row = replay(load, [parse_entrant("first_fit")], seed=0).summary.row(0, named=True)
    assert (row["evicted_by_loss"], row["unplaced_after_loss"], row["pending"]) == (3, 2, 2)
