"""The fewest nodes: known answers, the bound, the node set replayed by itself, limits, errors."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from given_source import given_source
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, workload
from store_support import tiny_store
from tests_support import shared_data

from tracekit.cli import run
from tracekit.errors import TracekitError
from tracekit.ingest import ingest
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.studies.shrink.search.bisection import fewest, fewest_around, fewest_from
from tracekit.replay.studies.shrink.search.fewest import fewest_nodes
from tracekit.replay.studies.shrink.search.least_nodes import least_nodes
from tracekit.replay.studies.shrink.search.limits import Limits, parse_limits
from tracekit.replay.studies.shrink.search.trials import asked_over_time
from tracekit.replay.studies.shrink.study import shrink_cluster
from tracekit.replay.studies.shrink.words import told as shrink_told
from tracekit.replay.studies.shrink.words.beside import others
from tracekit.replay.studies.shrink.words.drains_told import goes
from tracekit.replay.studies.shrink.words.sure import sure
from tracekit.replay.workload.changed.on_nodes import on_nodes
from tracekit.replay.workload.source import source_of
from tracekit.replay.workload.workload import Losses, Workload
from tracekit.seeds import order_seed
from tracekit.study import Study

#: Eight nodes of 100, sixteen containers of 25 that use what they ask for: four nodes are full.
EVEN = workload([(100, 1000)] * 8, [(0, 9000, 25, 10)] * 16, used_share=1.0)


def shrunk(
    load: Workload, *limits: str, policies: Sequence[str] = ("best_fit",), **more: Any
) -> Study:
    asked = {"policies": policies, "limits": limits, "repeats": 1, **more}
    return shrink_cluster(given_source(load), **asked)


def row(study: Study, policy: str = "best_fit") -> dict[str, Any]:
    return study.frames["policies"].filter(policy=policy).row(0, named=True)


KNOWN = [
    ((), 4, None),
    (("cpu_max_fraction <= 0.5",), 8, None),
    (("cpu_max_fraction <= 0.75",), 6, None),
    (("memory_max_fraction <= 0.03",), 6, None),
    (("cpu_p99 <= 0.75",), 6, None),  # below 100 nodes the largest
]


def test_a_limit_on_a_further_resource() -> None:
    """Sixteen that ask for 1 of 4 GPUs each: two on a node are half."""
    request = np.column_stack([EVEN.request, np.ones(EVEN.containers, np.int64)])
    gpus = dataclasses.replace(
        EVEN,
        resources=(*EVEN.resources, "gpu"),
        capacity=np.column_stack([EVEN.capacity, np.full(EVEN.nodes, 4)]),
        request=request,
        nonzero_request=request,
        limit=request,
    )
    for share, nodes in ((1.0, 4), (0.75, 6), (0.5, 8)):
        found = row(shrunk(gpus, f"gpu_max <= {share}", policies=["worst_fit"]), "worst_fit")
        assert (found["nodes"], found["gpu_max_fraction"]) == (
            nodes,
            pytest.approx(16 / nodes / 4, abs=0.1),
        )
    with pytest.raises(TracekitError, match="the run has no measure 'network_max_fraction'"):
        shrunk(gpus, "network_max_fraction <= 1", policies=["worst_fit"])


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


def test_a_limit_that_nobody_typed_may_be_beyond_what_percent_would_be() -> None:
    """Production's fullest node is at 1,800 %: that is its limit, not a mistake of the user."""
    load = workload([(100, 100)] * 8, [(0, 9000, 5, 5, 0)] * 60, used_share=6.0)
    with pytest.raises(TracekitError, match="already with all 8 nodes overloaded_node_steps is 12"):
        shrunk(load, policies=["first_fit"])
    with pytest.raises(TracekitError, match="is a share, 1 is all; 18 would be 1,800 %"):
        shrunk(load, "cpu_p99_fraction <= 18", policies=["first_fit"])


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
    monkeypatch.setattr(
        sys.modules["tracekit.replay.studies.shrink.search.fewest"], "ONE_BY_ONE", 0
    )
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


def test_a_limit_may_speak_of_production() -> None:
    """Production has two of 25 on each of eight nodes of 100, so half of each is used."""
    load = dataclasses.replace(EVEN, recorded_node=np.arange(16) % 8)
    found = shrunk(load, "cpu_max_fraction <= 1.5 * observed", policies=["worst_fit"])
    assert row(found, "worst_fit")["nodes"] == 6
    observed = found.about["observed"]
    assert (observed["nodes"], observed["measures"]["cpu_max_fraction"]) == (8, pytest.approx(0.5))
    usual = shrunk(load, policies=["worst_fit"]).about["limits"]
    assert usual == [
        "overloaded_node_steps <= 0", "cpu_p99_fraction <= 1", "memory_p99_fraction <= 1",
    ]  # fmt: skip
    more = shrunk(load, "cpu_max_fraction >= 0.6")
    assert more.about["observed"]["breaks"] == ["cpu_max_fraction >= 0.6"]
    unknown = dataclasses.replace(EVEN, recorded_node=np.full(16, -1))
    assert shrunk(unknown).about["limits"] == ["overloaded_node_steps <= 0"]
    with pytest.raises(TracekitError, match="so 'observed' is not known"):
        shrunk(unknown, "cpu_max_fraction <= observed")


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


@pytest.mark.parametrize(
    ("texts", "proven"),
    [
        ([], True),
        (["cpu_max_fraction <= 0.9"], True),
        (["pending <= 3"], True),
        (["pending_container_steps <= 3"], False),
        (["pending_container_steps <= 0"], True),
        (["first_fit: pending_container_steps <= 3"], True),
    ],
)
def test_no_bound_where_containers_may_wait(texts: list[str], proven: bool) -> None:
    limits = parse_limits(texts, ["best_fit", "first_fit"])
    assert (least_nodes(EVEN, parse_policy("best_fit"), limits) is not None) == proven


def test_use_bounds_a_policy_that_ignores_requests() -> None:
    """Requests of 100 on 8 nodes, of which a tenth is used."""
    load = workload([(100, 1000)] * 8, [(0, 9000, 90, 10)] * 8, used_share=0.1)
    policy = parse_policy("observed")
    assert not policy.filtered
    assert least_nodes(load, policy, parse_limits([], ["observed"])) == 1
    assert least_nodes(load, parse_policy("best_fit"), parse_limits([], ["best_fit"])) == 8


HALF_EMPTY = workload([(16_000, 64)] * 60, [(0, 9000, 2_000, 8)] * 120, used_share=0.5)


@pytest.mark.parametrize(
    ("limit", "bound"),
    [
        ("cpu_max_fraction <= 0.3", 30),
        ("cpu_p99_fraction <= 0.3", 30),
        ("cpu_mean_fraction <= 0.2", 38),
        ("cpu_p99_fraction <= 0.15", 60),
        ("cpu_mean_fraction <= 0.9", 15),
    ],
)
def test_every_limit_on_use_bounds(limit: str, bound: int) -> None:
    """120 containers that use 1 of 16 cores each: 4 are within 30 %. 15 nodes hold all requests."""
    limits = parse_limits([limit], ["least_allocated"])
    assert least_nodes(HALF_EMPTY, parse_policy("least_allocated"), limits) == bound


def test_of_many_nodes_the_percentile_proves_one_hundred_at_most() -> None:
    """150 would be needed if none might be full; one in 100 may."""
    load = workload([(10, 100)] * 200, [(0, 9000, 5, 1)] * 300, used_share=1.0)
    policy = parse_policy("observed")
    for limit, bound in (("cpu_max_fraction <= 1.0", 150), ("cpu_p99_fraction <= 1.0", 100)):
        assert least_nodes(load, policy, parse_limits([limit], ["observed"])) == bound


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
    assert "1 node left or is lost, and no count has it" in found.about["workload"]["told"]
    assert "1 node of the control plane stays, whatever is asked" in found.about["workload"]["told"]


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


def test_waiting_may_be_allowed() -> None:
    """Two that follow each other share a node; with both at once one waits."""
    rows = [(0, 9000, 60, 1), (0, 9000, 60, 1)]
    assert row(shrunk(workload([(100, 100)] * 2, rows)))["nodes"] == 2
    allowed = shrunk(
        workload([(100, 100)] * 2, rows), "pending <= 1", "pending_container_steps <= 4"
    )
    assert row(allowed)["nodes"] == 1
    assert row(allowed)["bound"] is None


def test_the_base_is_the_policy_on_all_nodes() -> None:
    found = shrunk(EVEN, "cpu_max_fraction <= 1.5 * base", policies=["worst_fit"])
    told = found.frames["sizes"].filter(nodes=8).row(0, named=True)
    assert told["cpu_max_fraction"] == pytest.approx(0.5)
    assert row(found, "worst_fit")["nodes"] == 6


ERRORS = [
    (["cpu_max_mean <= 0.8"], {}, "--limit 'cpu_max_mean <= 0.8': the run has no measure"),
    (["cpu_max_fraction"], {}, "--limit 'cpu_max_fraction' compares nothing"),
    (["first_fit: pending == 0"], {}, "policy 'first_fit' is not replayed"),
    (["cpu_max_fraction <= 0.2"], {}, "already with all 8 nodes cpu_max_fraction is 1, above 0.2"),
    (["kept_calls_share > 0.1"], {}, "has no measure 'kept_calls_share'"),
    (
        [],
        {"scale": 40},
        "best_fit: already with all 8 nodes pending is 608, not 0.* sixteen times as many",
    ),
    ([], {"scale": 0}, "--scale 0 is no number above 0"),
    ([], {"policies": ["bestfit"]}, "no policy named 'bestfit'"),
]


@pytest.mark.parametrize(("limits", "more", "message"), ERRORS)
def test_errors(limits: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(TracekitError, match=message):
        shrunk(EVEN, *limits, **more)


def test_one_policy_that_cannot_leaves_the_others() -> None:
    found = shrunk(EVEN, "cpu_max_fraction <= 0.5", policies=["best_fit", "worst_fit"])
    assert row(found, "worst_fit")["nodes"] == 8
    assert row(found)["problem"] == (
        "already with all 8 nodes cpu_max_fraction is 1, above 0.5; twice as many nodes do not help"
    )
    assert others(found, "worst_fit") == (
        " Not even all 8 are enough for best_fit: already with all 8 nodes cpu_max_fraction is 1,"
        " above 0.5; twice as many nodes do not help."
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


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tiny_store(tmp_path).path)
    call = ["shrink", store, "--policy", "first_fit", "--policy", "worst_fit", "--repeat", "2"]
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
    assert f"tracekit shrink {store} --policy" in words
    assert run([*call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    frame = pl.read_parquet(tmp_path / "study" / "policies.parquet")
    kept = pl.read_parquet(tmp_path / "study" / "nodes.parquet").filter("kept")
    for one, told in zip(frame.iter_rows(named=True), document["policies"], strict=True):
        assert told["nodes"] == one["nodes"] == len(told["kept"])
        assert told["kept"] == kept.filter(policy=one["policy"])["node"].to_list()
    assert run(["shrink", store, "--policy", "first_fit", "--limit", "cpu_maximum <= 1"]) == 2


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


def test_real_pods_of_openb(tmp_path: Path) -> None:
    """A part of them, through a store: never below the bound, and within the limit by itself."""
    folder = shared_data("openb")
    (tmp_path / "part").mkdir()
    for name, lines in (("openb_node_list_all_node", 201), ("openb_pod_list_default", 401)):
        text = (folder / f"{name}.csv").read_text().splitlines(keepends=True)[:lines]
        (tmp_path / "part" / f"{name}.csv").write_text("".join(text))
    ingest(tmp_path / "part", tmp_path / "store")
    assume = ["departures=none", "resources=cpu+memory", "selectors=none", "step_ms=10800000"]
    source = source_of(tmp_path / "store", None, assume=assume, seed=0)
    limit = "cpu_max_fraction <= 1"
    found = shrink_cluster(source, policies=["best_fit"], limits=[limit], repeats=1)
    load = source.load()
    for told in found.frames["policies"].iter_rows(named=True):
        assert told["problem"] is None
        assert 1 < told["bound"] <= told["nodes"] < told["of"] == 200
        kept = found.frames["nodes"].filter("kept", policy=told["policy"])["node"].to_list()
        assert len(kept) == told["nodes"]
        at = np.array([load.node_ids.index(node) for node in sorted(kept)])
        row = replay_one(on_nodes(load, np.sort(at)), parse_policy(told["policy"]), 0).row
        assert row["pending"] == 0
        assert row["cpu_max_fraction"] == told["cpu_max_fraction"] <= 1


def check_set(load: Workload, policy: str, limit: str) -> None:
    """The fewest nodes in two orders: not below the bound, and within the limit by themselves."""
    found = shrunk(load, limit, policies=[policy], repeats=2)
    told = row(found, policy)
    assert told["problem"] is None
    assert 1 < told["bound"] <= told["nodes_low"] <= told["nodes"] < told["of"] == load.nodes
    kept = found.frames["nodes"].filter("kept")["node"].to_list()
    assert len(kept) == told["nodes"]
    at = np.sort([load.node_ids.index(node) for node in kept])
    for order in range(2):
        given = in_order(load, order) if order else load
        again = replay_one(on_nodes(given, at), parse_policy(policy), order).row
        assert again["pending"] == again["pending_container_steps"] == 0
        assert again["cpu_max_fraction"] <= told["cpu_max_fraction"] <= 0.9


def test_real_machines_of_huawei() -> None:
    """A part of the servers and requests of huawei_topology25; affinity and NUMA left out."""
    folder = shared_data("huawei_topology25")
    halves = pl.read_csv(folder / "pm_res.csv").head(300).to_numpy().reshape(-1, 2, 2)
    asked = pl.read_csv(folder / "vm_data_c1.csv").head(600).select("flavor_vcpus", "flavor_ram")
    rows = [(0, 9000, cpu, memory) for cpu, memory in asked.iter_rows()]
    load = workload(halves.sum(axis=1).tolist(), rows, used_share=0.8)
    check_set(load, "best_fit", "cpu_max_fraction <= 0.9")


def test_a_drawn_cluster_of_500_nodes() -> None:
    rng = np.random.default_rng(500)
    shapes = rng.choice([64, 96, 128], (500, 2))
    sizes = rng.choice([2, 4, 8, 16, 32], (1200, 2), p=[0.2, 0.3, 0.3, 0.15, 0.05])
    rows = [(0, 9000, cpu, memory) for cpu, memory in sizes.tolist()]
    load = workload(shapes.tolist(), rows, used_share=0.9)
    load = dataclasses.replace(load, exchangeable=np.ones(1200, dtype=np.bool_))
    check_set(load, "best_fit", "cpu_max_fraction <= 0.9")


def test_limits_of_one_policy() -> None:
    limits = parse_limits(["best_fit: cpu_max_fraction <= 0.5"], ["best_fit", "first_fit"])
    assert isinstance(limits, Limits)
    assert limits.most_use("best_fit")[0] == 0.5
    assert limits.most_use("first_fit") == (float("inf"), float("inf"))
