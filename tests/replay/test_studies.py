"""The studies of placement, of solvers and of extenders measure what they describe."""

from __future__ import annotations

import dataclasses
import itertools
from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.study import Study
from tracekit.cluster.named import Paper000
from tracekit.cluster.source import drawn_workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import Batch
from tracekit.policy.placement._parts.searching import BatchFitness
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.studies import ExtenderStudy, PlacementStudy, SolverStudy
from tracekit.replay.studies.extender_study import POLICIES, study_extender
from tracekit.replay.studies.placement_study import (
    counts,
    every_policy,
    imbalance_by_count,
    seen_by,
    study_placement,
)
from tracekit.replay.studies.solver_study import (
    best_possible,
    greedy,
    local_search,
    study_solvers,
)

SMALL = PlacementStudy(sets=3, containers=120, nodes=5)
FIVE = [parse_policy(name) for name in ("lra", "bra", "cwt", "bes", "tbesk")]


@pytest.fixture(scope="module")
def small() -> Study:
    return study_placement(SMALL, policies=FIVE)


def test_frames(small: Study) -> None:
    assert set(small.frames) == {
        "imbalance", "use", "nodes", "summary", "sets", "ends", "timing"
    }  # fmt: skip
    assert small.frames["imbalance"]["containers"].to_list() == [100, 120] * 5
    assert small.frames["use"].height == 5 * 4
    means = small.frames["sets"].group_by("policy", "containers", maintain_order=True).mean()
    assert means["imbalance"].to_list() == pytest.approx(
        small.frames["imbalance"]["imbalance"].to_list()
    )
    assert small.frames["ends"].height == 5 * 4 * SMALL.sets
    between = small.frames["summary"].filter(
        small.frames["summary"]["imbalance_low"] <= small.frames["summary"]["imbalance"]
    )
    assert between.height == 5


def test_nodes_stand_from_the_least_used_to_the_most(small: Study) -> None:
    assert small.frames["nodes"].height == 5 * 4 * SMALL.nodes
    for (policy, resource), part in small.frames["nodes"].group_by("policy", "resource"):
        assert part["place"].to_list() == [1, 2, 3, 4, 5]
        assert part["use_fraction"].is_sorted()
        whiskers = small.frames["use"].row(
            by_predicate=(pl.col("policy") == policy) & (pl.col("resource") == resource), named=True
        )
        assert part["use_fraction"][0] == pytest.approx(whiskers["low_fraction"])
        assert part["use_fraction"][-1] == pytest.approx(whiskers["high_fraction"])


@pytest.mark.slow
def test_who_scores_by_cpu_and_memory_alone_overfills_the_others_unless_all_must_fit() -> None:
    chosen = [parse_policy(name) for name in ("lra", "cwt", "tbesk_exact")]
    full = dataclasses.replace(SMALL, target_alloc_fraction=0.9)
    scored = study_placement(full, policies=chosen).frames
    fitting = study_placement(dataclasses.replace(full, room="all"), policies=chosen).frames
    overfull = dict(scored["summary"].select("policy", "overfull_nodes").iter_rows())
    assert overfull["lra"] > 0
    assert overfull["cwt"] == overfull["tbesk_exact"] == 0
    assert fitting["summary"]["overfull_nodes"].to_list() == [0.0, 0.0, 0.0]
    over = scored["nodes"].filter(pl.col("use_fraction") > 1)
    assert set(over["resource"]) <= {"net", "disk"}
    same = [frame["nodes"].filter(pl.col("policy") != "lra") for frame in (scored, fitting)]
    assert same[0].equals(same[1])


@pytest.mark.parametrize(
    ("policy", "unseen"),
    [
        ("lra", {"net_kbit", "disk_bytes"}),
        ("least_allocated", {"net_kbit", "disk_bytes"}),
        ("least_allocated[resources=cpu:1+net_kbit:1]", {"disk_bytes"}),
        ("bnp", {"disk_bytes"}),
        ("tbesk", set()),
    ],
)
def test_a_policy_sees_what_it_scores_by(policy: str, unseen: set[str]) -> None:
    load = drawn_workload(Paper000(containers=20, nodes=2), np.random.default_rng(0))
    shown = seen_by(parse_policy(policy), load)
    for column, name in enumerate(load.resources):
        expected = 0 * load.containers.request if name in unseen else load.containers.request
        assert shown.containers.request[:, column].tolist() == expected[:, column].tolist()


@pytest.mark.slow
def test_same_seed_same_frames_but_for_times(small: Study) -> None:
    again = study_placement(SMALL, policies=FIVE)
    for name, frame in small.frames.items():
        assert name == "timing" or again.frames[name].equals(frame)


@pytest.mark.slow
def test_intervals_do_not_hang_on_who_else_takes_part(small: Study) -> None:
    alone = study_placement(SMALL, policies=[parse_policy(name) for name in ("tbesk", "bes")])
    for name, column in (("imbalance", "policy"), ("summary", "policy"), ("sets", "policy")):
        of_bes = [frames[name].filter(pl.col(column) == "bes") for frames in
                  (alone.frames, small.frames)]  # fmt: skip
        assert of_bes[0].height
        assert of_bes[0].equals(of_bes[1])


def test_imbalance_is_recounted_from_the_containers() -> None:
    load = drawn_workload(Paper000(containers=150, nodes=4), np.random.default_rng(0))
    node = Engine(load, parse_policy("lra"), np.random.default_rng(0)).run().node
    for upto, match in zip(counts(150), imbalance_by_count(load, node), strict=True):
        uneven = []
        for at in range(load.nodes.count):
            mine = [load.containers.request[i] for i in range(upto) if node[i] == at]
            share = np.sum(mine, axis=0) / load.nodes.capacity[at] if mine else np.zeros(4)
            uneven.append(float(np.sqrt(((share - share.mean()) ** 2).sum())))
        assert match == pytest.approx(np.mean(uneven))


def test_every_policy_that_needs_no_record_takes_part() -> None:
    names = {one.name() for one in every_policy()}
    assert "observed" not in names
    assert {"tbesk", "tbesk_exact", "least_allocated"} <= names


def test_a_policy_takes_part_once() -> None:
    with pytest.raises(TracekitError):
        study_placement(SMALL, policies=[FIVE[0], FIVE[0]])


@pytest.mark.slow
def test_load_by_container_and_time_of_a_decision() -> None:
    ticks = count()
    study = ExtenderStudy(orders=2, decisions=3)
    frames = study_extender(study, clock=lambda: next(ticks) / 1000).frames
    # every reading of the clock is one millisecond after the last
    assert frames["latency"]["mode"].to_list() == ["default", "cached", "refetched"]
    assert frames["latency"]["decisions"].to_list() == [3, 3, 3]
    assert frames["latency"]["median_ms"].to_list() == pytest.approx([1.0] * 3)
    loads = frames["loads"]
    assert loads.height == len(POLICIES) * study.orders * study.containers * 2 * study.nodes
    # a container more adds to one node, and leaves none with less
    of_node = loads.sort("containers").group_by("policy", "order", "resource", "node")
    grown = of_node.agg(pl.col("load_fraction").diff().drop_nulls().min())
    assert (grown["load_fraction"] >= 0).all()
    moved = loads.filter(resource="cpu").group_by("policy", "order", "containers").agg(
        pl.col("load_fraction").sum()
    )  # fmt: skip
    for (_, _), part in moved.group_by("policy", "order"):
        assert part.sort("containers")["load_fraction"].is_sorted()
    last = frames["curves"].filter(containers=study.containers)
    assert last["spread_fraction"].to_list() == pytest.approx(
        (last["high_fraction"] - last["low_fraction"]).to_list()
    )


def task(seed: int, size: int = 4, nodes: int = 3) -> tuple[Any, Any, Batch]:
    drawn = Paper000(containers=size, nodes=nodes, target_alloc_fraction=0.9)
    load = drawn_workload(drawn, np.random.default_rng(seed))
    policy: Any = parse_policy("tbesk_exact[basis=requests]")
    state = ReplayState(load, policy)
    batch = Batch(containers=tuple(state.container(at) for at in range(load.containers.count)))
    return policy, state.snapshot(0), batch


@pytest.mark.parametrize("seed", range(6))
def test_the_integer_program_equals_trying_all(seed: int) -> None:
    policy, snapshot, batch = task(seed)
    judged = BatchFitness(policy, snapshot, batch)
    every = np.array(list(itertools.product(range(3), repeat=4)))
    fitness, placed = judged.fitness(every)
    chosen, proven = best_possible(policy, snapshot, batch)
    assert proven
    if placed[np.argmax(fitness)].all():
        assert judged.fitness(chosen[None, :])[0][0] == pytest.approx(fitness.max())


@pytest.mark.parametrize("seed", range(4))
def test_local_search_is_between_greedy_and_the_best(seed: int) -> None:
    policy, snapshot, batch = task(seed, size=6, nodes=5)
    judged = BatchFitness(policy, snapshot, batch)
    first = greedy(judged, len(batch.containers), 5)
    better = local_search(judged, first, 5, rounds=100)
    chosen, _ = best_possible(policy, snapshot, batch)
    low, middle = (float(judged.fitness(one[None, :])[0][0]) for one in (first, better))
    assert low <= middle + 1e-12
    if (chosen >= 0).all():
        assert middle <= float(judged.fitness(chosen[None, :])[0][0]) + 1e-9


def test_with_no_room_at_all_everybody_is_left_out() -> None:
    policy, snapshot, batch = task(0)
    shut = Batch(containers=batch.containers, open_nodes=np.zeros((4, 3), np.bool_))
    chosen, proven = best_possible(policy, snapshot, shut)
    assert (chosen.tolist(), proven) == ([-1] * 4, True)


def test_nothing_passes_the_best() -> None:
    result = study_solvers(SolverStudy(batches=2, batch_size=4, containers=120, nodes=6))
    quality = result.frames["quality"]
    assert result.about["proven"]
    assert (quality["gap_mean"] >= -1e-9).all()
    assert {"integer_program", "greedy", "local_search", "first_fit_decreasing", "tbesk"} <= set(
        quality["method"]
    )
    assert (quality["decision_ms"] > 0).all()
