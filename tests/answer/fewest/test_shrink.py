"""The fewest nodes: known answers, the bound, the node set replayed by itself, limits, errors."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, workload
from shrink_support import EVEN, row, shrunk
from store_support import tiny_store

from tracekit.answer.fewest.search.bisection import fewest, fewest_around, fewest_from
from tracekit.answer.fewest.search.fewest import fewest_nodes
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.search.trial import asked_over_time
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.beside import others
from tracekit.answer.fewest.words.drains_told import goes
from tracekit.answer.fewest.words.sure import sure
from tracekit.cli import run
from tracekit.errors import TracekitError
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.losses import with_losses
from tracekit.replay.workload.node_times import Losses
from tracekit.seeds import order_seed, stream

KNOWN = [
    ((), 4, None),
    (("cpu_max_fraction <= 0.5",), 8, None),
    (("cpu_max_fraction <= 0.75",), 6, None),
    (("memory_max_fraction <= 0.03",), 6, None),
    (("cpu_p99 <= 0.75",), 6, None),  # below 100 nodes the largest
]


@pytest.mark.parametrize("policy", ["worst_fit", "least_allocated"])
@pytest.mark.parametrize(("limits", "nodes", "_"), KNOWN)
def test_known_answers_of_a_policy_that_spreads(
    limits: tuple[str, ...], nodes: int, policy: str, _: None
) -> None:
    found = row(shrunk(EVEN, *limits, policies=[policy]), policy)
    assert (found["nodes"], found["of"]) == (nodes, 8)
    assert found["bound"] <= nodes


def test_the_neighbour_fails_and_says_by_what() -> None:
    """3 of 25 on a node of 100 are 0.75; on five nodes one has four."""
    found = shrunk(EVEN, "cpu_max_fraction <= 0.76", policies=["worst_fit"])
    told = row(found, "worst_fit")
    assert (told["nodes"], told["bound"], told["fewer"]) == (6, 6, 5)
    assert told["fails"] is None
    assert told["cpu_max_fraction"] == pytest.approx(0.75)
    other = row(shrunk(EVEN, "imbalance_mean <= 0.345", policies=["worst_fit"]), "worst_fit")
    assert other["fails_measure"] == "imbalance_mean"
    assert other["fails_value"] > 0.345 >= other["imbalance_mean"]


def test_what_fewer_nodes_bring_is_said_with_the_count() -> None:
    """Production overloads one node at every step, so that few nodes seem enough."""
    load = workload([(100, 100)] * 8, [(0, 9000, 5, 5, 0)] * 20, used_share=6.0)
    found = shrunk(load, policies=["first_fit"])
    told = row(found, "first_fit")
    assert 0 < told["overloaded_node_steps"] <= found.about["observed"]["measures"][OVERLOAD]
    words = shrink_told.short(found)
    there = f"overloaded in {told['overloaded_node_steps']:,.0f} node-steps, up to"
    assert f"{there} {told['cpu_max_fraction']:.1%}".replace("%", " %") in words
    assert "% CPU (in production" in words
    assert "Production's containers are on 1." in words
    # where nobody overloads nothing is said of it
    assert "overloaded" not in shrink_told.short(shrunk(EVEN, policies=["first_fit"]))


def test_nodes_least_asked_go_first_and_of_equals_the_last() -> None:
    """First fit fills n0 and half of n1; the two behind them are empty."""
    load = workload([(100, 100)] * 4, [(0, 9000, 50, 1)] * 3)
    nodes = shrunk(load, policies=["first_fit"]).frames["nodes"]
    assert nodes["node"].to_list() == ["n0", "n1", "n2", "n3"]
    assert nodes["requested_fraction"].to_list() == [1.0, 0.5, 0.0, 0.0]
    assert nodes["kept"].to_list() == [True, True, False, False]


def test_the_smallest_go_first_where_that_ends_with_fewer() -> None:
    """Best fit fills the small nodes and leaves the large ones empty; two of these are enough."""
    load = workload([(100, 100)] * 6 + [(300, 300)] * 3, [(0, 9000, 50, 50)] * 12)
    found = shrunk(load)
    assert (row(found)["nodes"], row(found)["bound"], row(found)["going"]) == (2, 2, "smallest")
    kept = found.frames["nodes"].filter("kept")
    assert kept["node"].to_list() == ["n6", "n7"]
    assert row(shrunk(EVEN))["going"] == "least_asked"


def test_a_node_of_no_use_goes_though_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Best fit fills six small nodes; without these three large ones do, and one that fits none."""
    monkeypatch.setattr(sys.modules["tracekit.answer.fewest.search.fewest"], "ONE_BY_ONE", 0)
    shapes = [(60, 160)] * 6 + [(2000, 100)] + [(400, 400)] * 3
    found = shrunk(workload(shapes, [(0, 9000, 50, 150)] * 6))
    assert (row(found)["nodes"], row(found)["bound"], row(found)["going"]) == (3, 3, "sorted_anew")
    assert found.frames["nodes"].filter("kept")["node"].to_list() == ["n7", "n8", "n9"]
    assert "n6" in found.frames["nodes"].filter(~pl.col("kept"))["node"].to_list()


def test_what_is_asked_counts_by_time_and_without_daemons() -> None:
    load = workload([(100, 100)] * 2, [(0, 9000, 50, 1), (2000, 9000, 50, 1), (2000, 9000, 80, 1)])
    load = dataclasses.replace(
        load, daemon=np.array([False, False, True]), pinned=np.array([-1, -1, 1])
    )
    assert asked_over_time(load, np.array([0, 1, 1])).tolist() == [0.5, 0.25]


def test_daemons_and_background_go_with_their_nodes() -> None:
    """Every node has a daemon of 40: two containers of 30 fit beside it, so six need three."""
    rows = [(0, 9000, 40, 1)] * 6 + [(0, 9000, 30, 1)] * 6
    load = workload([(100, 100)] * 6, rows, used_share=1.0)
    load = dataclasses.replace(
        load,
        pinned=np.array([0, 1, 2, 3, 4, 5, *[-1] * 6]),
        daemon=np.array([True] * 6 + [False] * 6),
    )
    found = row(shrunk(load))
    assert found["nodes"] == 3
    assert found["bound"] == 3


@pytest.mark.parametrize(("scale", "nodes"), [(1.0, 4), (1.3, 5), (0.5, 2), (2, 8)])
def test_more_load(scale: float, nodes: int) -> None:
    """16, 20 (20.8 rounded down), 8 and 32 containers, four on a node."""
    assert row(shrunk(EVEN, scale=scale))["nodes"] == nodes


rows_of = some.lists(
    some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=2, max_size=9
)


@pytest.mark.slow
@settings(max_examples=30)
@given(rows_of, some.sampled_from(["first_fit", "best_fit", "worst_fit"]), some.integers(1, 3))
def test_never_below_the_bound_and_the_set_holds_by_itself(
    sizes: list[tuple[int, int]], name: str, repeats: int
) -> None:
    load = workload([(100, 100), (120, 80)] * 4, [(0, 9000, *size) for size in sizes])
    load = dataclasses.replace(load, exchangeable=np.ones(load.containers, dtype=np.bool_))
    policy, limits = parse_policy(name), parse_limits(["cpu_max_fraction <= 0.45"], [name])
    try:
        found = fewest_nodes(load, policy, limits, seed=3, repeats=repeats)
    except TracekitError:
        return
    assert found.bound is not None
    assert found.bound <= found.nodes <= load.nodes
    assert min(found.by_order) >= found.bound
    kept = np.sort(found.place[: found.nodes])
    for order in range(repeats):
        again = in_order(load, order_seed(3, order)) if order else load
        row = replay_one(on_nodes(again, kept), policy, order_seed(3, order)).row
        assert row["pending"] == 0
        assert row["cpu_max_fraction"] <= 0.45
    fewer = found.at(found.nodes - 1)
    assert found.nodes == found.bound or any(trial.broken for trial in fewer)


@pytest.mark.slow
@settings(max_examples=30)
@given(rows_of, some.sampled_from(["first_fit", "best_fit", "worst_fit"]), some.integers(1, 3))
def test_no_single_node_that_stays_can_go(
    sizes: list[tuple[int, int]], name: str, repeats: int
) -> None:
    """Nodes of many shapes, so that the ones that can go stand anywhere in both orders."""
    shapes = [(100, 60), (60, 100), (120, 80), (80, 80), (140, 40), (40, 140)]
    load = workload(shapes, [(0, 9000, *size) for size in sizes], used_share=1.0)
    load = dataclasses.replace(load, exchangeable=np.ones(load.containers, dtype=np.bool_))
    policy, limits = parse_policy(name), parse_limits(["cpu_max_fraction <= 0.9"], [name])
    try:
        found = fewest_nodes(load, policy, limits, seed=3, repeats=repeats)
    except TracekitError:
        return
    stay = found.place[: found.nodes]
    for gone in stay if found.nodes > 1 else ():
        kept = np.sort(stay[stay != gone])
        rows = [
            replay_one(on_nodes(in_order(load, its) if at else load, kept), policy, its).row
            for at, its in enumerate(order_seed(3, number) for number in range(repeats))
        ]
        assert any(row["pending"] or row["cpu_max_fraction"] > 0.9 for row in rows)


def test_bisection() -> None:
    for least in range(1, 12):
        assert fewest(lambda nodes, least=least: nodes >= least, 1, 11) == min(least, 11)  # type: ignore[misc]


@pytest.mark.parametrize("least", [1, 2, 5, 11])
@pytest.mark.parametrize("start", [1, 4, 11])
def test_a_search_from_a_known_number_ends_where_bisection_does(least: int, start: int) -> None:
    assert fewest_around(lambda nodes: nodes >= least, start, 1, 11) == least
    assert fewest_from(lambda nodes: nodes >= least, start, 11) == max(least, start)
    assert fewest_around(lambda _: False, start, 1, 11) is None


def test_where_no_policy_has_an_answer_each_says_why_and_which_comes_nearest() -> None:
    with pytest.raises(TracekitError, match="under none of 2 policies do the limits hold") as told:
        shrunk(EVEN, "cpu_mean_fraction <= 0.01", policies=["best_fit", "worst_fit"])
    assert [line.partition(":")[0] for line in told.value.details] == ["best_fit", "worst_fit"]
    assert "comes nearest, with cpu_mean_fraction" in str(told.value.hint)


def test_the_highest_use_of_nodes_is_that_of_the_replay() -> None:
    found = shrunk(EVEN, "cpu_max_fraction <= 0.8", policies=["worst_fit"])
    nodes = found.frames["nodes"]
    assert (
        nodes.filter("kept")["cpu_max_fraction"].max()
        == row(found, "worst_fit")["cpu_max_fraction"]
    )
    assert nodes.filter(~pl.col("kept"))["cpu_max_fraction"].null_count() == 2


def test_nodes_of_the_control_plane_stay_and_those_that_left_are_not_counted() -> None:
    """Of eight nodes one is gone by the end, the last is of the control plane: four are enough."""
    stays = np.arange(8) == 7
    left = Losses(node=np.array([0]), time_ms=np.array([2000]))
    load = dataclasses.replace(EVEN, stays=stays, losses=left)
    found = shrunk(load)
    assert found.about["nodes"] == found.about["workload"]["nodes"] == 7
    told = row(found)
    assert (told["of"], told["fewer"]) == (7, told["nodes"] - 1)
    assert told["bound"] <= told["nodes"] <= 7
    nodes = found.frames["nodes"]
    assert "n0" not in nodes["node"].to_list()
    assert nodes.filter(node="n7")["kept"].item()
    assert nodes["kept"].sum() == told["nodes"]
    assert found.frames["sizes"]["nodes"].max() == 7
    assert any(
        one.startswith("1 node left within the recorded time: no count has it")
        for one in found.about["workload"]["told"]
    )
    assert "1 node of the control plane stays, whatever is asked" in found.about["workload"]["told"]


def test_a_node_that_is_lost_by_assumption_counts_as_needed() -> None:
    """Until it is lost it carries load: fewer nodes were said to be enough than without a loss."""
    rows: list[Row] = [(0, 1000 if at < 9 else 9000, 25, 10) for at in range(12)]
    load = workload([(100, 1000)] * 4, rows)
    usual = row(shrunk(load, policies=["first_fit"]), "first_fit")
    assert (usual["nodes"], usual["of"]) == (3, 4)
    lost = with_losses(load, "n0@90%", stream(0, "lost"))
    found = shrunk(lost, policies=["first_fit"])
    told = row(found, "first_fit")
    assert (told["nodes"], told["of"], told["bound"]) == (3, 4, 3)
    assert found.frames["nodes"].filter(node="n0")["kept"].item()
    assert any(
        one.startswith("1 node is lost: n0 after") for one in found.about["workload"]["told"]
    )


@pytest.mark.parametrize("policy", ["best_fit", "least_allocated"])
def test_cordoned_nodes_go_before_all_others(policy: str) -> None:
    """They may be full: whoever runs there goes elsewhere, as nothing new comes to them."""
    cordoned = np.isin(np.arange(8), [0, 3])
    rows: list[Row] = [(0, 9000, 25, 10)] * 16
    load = dataclasses.replace(workload([(100, 1000)] * 8, rows), cordoned=cordoned)
    found = shrunk(load, policies=(policy,))
    nodes = found.frames["nodes"]
    assert nodes.sort("place").tail(2).filter("cordoned").height == 2
    assert set(nodes.filter("cordoned")["kept"]) == {False}
    answer = shrink_told.told(found)
    assert answer is not None
    said = goes(answer)
    assert "n0" in said
    assert "n3 are cordoned, and among them." in said
    assert "cordoned" not in shrunk(EVEN).frames["nodes"].columns


def test_one_policy_that_cannot_leaves_the_others() -> None:
    found = shrunk(EVEN, "cpu_max_fraction <= 0.5", policies=["best_fit", "worst_fit"])
    assert row(found, "worst_fit")["nodes"] == 8
    assert row(found)["problem"] == (
        "already with all 8 nodes highest CPU use would come to 100.0 %, above 50.0 %;"
        " twice as many nodes like these do not help"
    )
    assert others(found, "worst_fit") == (
        " Not even all are enough for best_fit: highest CPU use would come to 100.0 % on all 8."
    )


def test_orders_of_arrival_have_a_range() -> None:
    sizes = np.random.default_rng(0).integers(10, 70, (30, 2)).tolist()
    load = workload([(100, 100)] * 30, [(0, 9000, cpu, memory) for cpu, memory in sizes])
    load = dataclasses.replace(load, exchangeable=np.ones(30, dtype=np.bool_))
    told = row(shrunk(load, policies=["first_fit"], repeats=6), "first_fit")
    assert told["nodes_low"] < told["nodes_high"] <= told["nodes"]


def test_less_load_has_fewer_containers() -> None:
    assert shrunk(EVEN, scale=0.5).frames["sizes"]["placed"].unique().to_list() == [8]
    with pytest.raises(TracekitError, match="the workload has no container"):
        shrunk(EVEN, scale=0.01)


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tiny_store(tmp_path).path)
    call = ["nodes", store, "--policy", "first_fit", "--policy", "worst_fit", "--repeat", "2"]
    call += ["--limit", "cpu_max_fraction <= 1.1"]
    assert run([*call, "--out", str(tmp_path / "study")]) == 0
    said = capsys.readouterr().out
    # a command that is too long for a line goes on after a backslash; a path is never broken
    whole = said.replace("\\\n", " ")
    prose = [line for line in whole.splitlines() if not line.startswith("  tracekit ")]
    assert max(len(line) for line in prose if str(tmp_path) not in line) <= 80
    words = " ".join(whole.split())
    assert re.search(r"needed for|nodes are enough for .*, .* can go", words)
    assert "in each of 2 orders of arrival" in words
    assert f"tracekit nodes {store} --policy" in words
    assert run([*call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    frame = pl.read_parquet(tmp_path / "study" / "policies.parquet")
    kept = pl.read_parquet(tmp_path / "study" / "nodes.parquet").filter("kept")
    for one, told in zip(frame.iter_rows(named=True), document["policies"], strict=True):
        assert told["nodes"] == one["nodes"] == len(told["kept"])
        assert told["kept"] == kept.filter(policy=one["policy"])["node"].to_list()
    assert run(["nodes", store, "--policy", "first_fit", "--limit", "cpu_maximum <= 1"]) == 2


def test_what_production_came_to_early_is_of_the_load_that_it_ran() -> None:
    """Four times the containers on their recorded nodes would be 200 % of each; nobody ran that."""
    rows = [(0, 9000, 50, 50, at) for at in range(8)]
    load = workload([(100, 100)] * 8, rows, used_share=1.0, steps=6)
    usage = load.usage.copy()
    usage[:, 3:] /= 2
    load = dataclasses.replace(load, usage=usage, settled_ms=3000)
    once, often = (shrunk(load, scale=scale).about["workload"] for scale in (1.0, 4.0))
    assert "highest CPU use is 50.0 % there and 25.0 % afterwards" in once["unjudged"]
    assert often["unjudged"] == once["unjudged"]


def test_assumptions_are_no_policies() -> None:
    """Of many the first are named, and the others counted as what they are."""
    names = [f"thing {at}" for at in range(9)]
    found = shrunk(dataclasses.replace(EVEN, quantities=dict.fromkeys(names, "assumed")))
    best = shrink_told.told(found)
    assert best is not None
    said = sure(best)
    assert "what was assumed (thing 0, " in said
    assert "policies" not in said


def test_daemons_that_come_later_leave_the_bound_as_it_is() -> None:
    """They come to their node whether or not there is room, and hid what the others request."""
    late, size = [0] * 8 + [3000] * 8, [50] * 8 + [10] * 8
    rows: list[Row] = [(late[at], 9000, size[at], 10) for at in range(16)]
    load = workload([(100, 1000)] * 8, rows)
    daemon = np.arange(16) >= 8
    load = dataclasses.replace(
        load, daemon=daemon, pinned=np.where(daemon, np.arange(16) - 8, -1).astype(np.int64)
    )
    found = row(shrunk(load, "cpu_max_fraction <= 1.2", policies=["first_fit"]), "first_fit")
    assert (found["bound"], found["nodes"]) == (4, 4)
