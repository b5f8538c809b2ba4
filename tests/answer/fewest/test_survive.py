"""The loss of any one zone is survived: beside a plain count of every subset of nodes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cluster_support import written
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import changed, workload
from shrink_support import limits, shrunk, varying

from tracekit.answer.fewest.cluster import ZoneBoundContainers, bound_to_zones
from tracekit.answer.fewest.outcome import Outcome, TooFewError
from tracekit.answer.fewest.replays import LocalReplays
from tracekit.answer.fewest.search import fewest_nodes
from tracekit.answer.nodes import answer_of_nodes
from tracekit.base.arrays import IntArray, order_seed
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.losses import losing_zone
from tracekit.cluster.parts import domains_of
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order

ORDERS, SEED = 2, 3
SIZES = [(100, 100), (60, 160), (160, 60), (200, 200)]
rows_of = some.lists(
    some.tuples(some.integers(1, 50), some.integers(1, 50)), min_size=1, max_size=7
)
nodes_of = some.lists(
    some.tuples(some.sampled_from(SIZES), some.sampled_from("abc")), min_size=3, max_size=6
).filter(lambda nodes: len({zone for _, zone in nodes}) > 1)


def in_zones(load: Workload, zones: Sequence[str | None]) -> Workload:
    """The workload with the zone of each node, judged once all containers have come."""
    domains = domains_of({"zone": list(zones)})
    return changed(load, nodes={"domains": domains}, use={"settled_ms": 1000})


def first_fit(load: Workload, owner: Sequence[int], node: IntArray, open_: Sequence[int]) -> bool:
    """Place some containers by what is requested, ``node`` changes; whether all found a node."""
    for index in owner:
        for at in open_:
            if (
                load.containers.request[index] + load.containers.request[node == at].sum(0)
                <= load.nodes.capacity[at]
            ).all():
                node[index] = at
                break
        else:
            return False
    return True


def within(load: Workload, node: IntArray) -> bool:
    """Whether no node is above the ceiling, where each container uses what it requests."""
    used = (
        np.stack([load.containers.request[node == at].sum(0) for at in range(load.nodes.count)])
        / load.nodes.capacity
    )
    return bool((used <= [0.8, 0.9]).all())


def survives(load: Workload, zones: Sequence[str], staying: Sequence[int]) -> bool:
    """Whether these nodes are enough, in every order of arrival, with any one zone lost or none."""
    for order in range(ORDERS):
        given = in_order(load, order_seed(SEED, order)) if order else load
        node = np.full(given.containers.count, -1)
        if not first_fit(given, range(given.containers.count), node, staying) or not within(
            given, node
        ):
            return False
        for lost in {zones[at] for at in staying}:
            gone = [at for at in staying if zones[at] == lost]
            again = np.where(np.isin(node, gone), -1, node)
            stay = [at for at in staying if at not in gone]
            moved = np.flatnonzero(again < 0).tolist()
            if not first_fit(given, moved, again, stay) or not within(given, again):
                return False
    return True


def search(load: Workload) -> Outcome:
    policy = parse_policy("first_fit")
    return fewest_nodes(
        load,
        policy,
        limits(load),
        repeats=ORDERS,
        replaying=lambda some: LocalReplays(some, policy, SEED),
        further=False,
        survive=True,
    )


@settings(max_examples=25)
@given(rows_of, nodes_of)
def test_no_answer_is_below_what_all_subsets_of_nodes_tell(
    sizes: list[tuple[int, int]], nodes: list[tuple[tuple[int, int], str]]
) -> None:
    zones = [zone for _, zone in nodes]
    load = workload([size for size, _ in nodes], [(0, 10**9, *size) for size in sizes],
                    used_share=1.0)  # fmt: skip
    load = changed(load, containers={"exchangeable": np.ones(load.containers.count, np.bool_)})
    load = in_zones(load, zones)
    subsets = (
        chosen
        for many in range(1, len(nodes) + 1)
        for chosen in itertools.combinations(range(len(nodes)), many)
    )
    fewest = next((len(chosen) for chosen in subsets if survives(load, zones, chosen)), None)
    try:
        results = search(load)
    except TooFewError:
        assert not survives(load, zones, range(len(nodes)))
        return
    assert fewest is not None
    assert results.bound is not None
    assert results.bound <= fewest <= results.nodes <= fewest + 2
    assert survives(load, zones, sorted(results.staying.tolist()))
    assert all(one.breaks_measure is None for one in results.zones)


def test_use_that_no_container_explains_goes_on_without_the_zone() -> None:
    load = varying([(100, 100)] * 3, [(0, 9000, 10, 10)], seed=1, steps=4)
    use = np.array([10, 20, 40], np.float32) * np.ones((2, 4, 1), np.float32)
    load = in_zones(
        changed(load, use={"background": use}),
        ["a", "a", "b"],
    )
    lost = losing_zone(load, "b").use.background[0]
    assert lost[0].tolist() == [10, 20, 40]
    # by what is free: 90 and 80 of 100
    assert lost[1:].tolist() == [pytest.approx([10 + 40 * 9 / 17, 20 + 40 * 8 / 17, 0])] * 3


def zones_frame(study: Any, case: str) -> dict[str, tuple[int, int, str | None]]:
    rows = study.frames["zones"].filter(case=case)
    return {
        zone: (nodes, waiting, breaks)
        for zone, nodes, waiting, breaks in rows.select(
            "zone", "nodes", "waiting_containers", "breaks_measure"
        ).iter_rows()
    }


#: Twelve containers of a quarter node on three nodes of zone a and two of b, as production has it.
LOPSIDED = in_zones(
    workload([(100, 1000)] * 5, [(0, 9000, 25, 10, at % 5) for at in range(12)], used_share=0.5),
    ["a", "a", "a", "b", "b"],
)


def test_today_production_stays_and_the_lost_zone_is_placed_anew() -> None:
    """Zone a runs 8 of 12, b has room for 4 of them; zone b runs 4, for which a has room."""
    study = shrunk(LOPSIDED, survive=True)
    assert zones_frame(study, "today") == {"a": (3, 4, "pending"), "b": (2, 0, None)}
    policy_row = study.frames["policies"].row(0, named=True)
    # three nodes hold all, so each zone has three
    assert (policy_row["nodes"], policy_row["added_nodes"], policy_row["bound"]) == (6, 1, 6)
    assert (policy_row["breaks_measure"], policy_row["breaks_lost_zone"]) == ("pending", "a")
    assert zones_frame(study, "kept") == {"a": (3, 0, None), "b": (3, 0, None)}


def test_a_node_without_a_zone_is_never_lost() -> None:
    load = in_zones(LOPSIDED, ["a", None, None, None, "b"])
    study = shrunk(load, survive=True)
    assert study.frames["policies"]["nodes"][0] == 3
    assert study.about["workload"]["nodes_without_zone"] == 3


def test_who_may_run_in_one_zone_alone_waits_without_it_and_does_not_count() -> None:
    """Of ten containers of a quarter node two are bound to zone a."""
    only_a = np.array([[zone == "a" for zone in "aaaabbbb"]])
    rows = [(0, 9000, 25, 10, at % 8) for at in range(10)]
    load = in_zones(workload([(100, 1000)] * 8, rows, used_share=0.5), [*"aaaabbbb"])
    selector = Allowed(label="selector", of=np.array([0, 0, *[-1] * 8]), mask=only_a)
    load = changed(load, rules={"constraints": Constraints(parts=(selector,))})
    assert bound_to_zones(load) == {
        "a": ZoneBoundContainers(containers=2, container_steps=6, service="s0")
    }
    study = shrunk(load, survive=True)
    assert zones_frame(study, "today") == {"a": (4, 2, "pending"), "b": (4, 0, None)}
    # eight run without zone a, and all ten without zone b
    assert zones_frame(study, "kept") == {"a": (3, 2, None), "b": (2, 0, None)}
    messages = [one for one in answer_of_nodes(study).facts if one.because == "bound"]
    assert [(one.subject, one.value) for one in messages] == [("a", 2)]


def test_zones_are_of_the_count_that_is_acted_on() -> None:
    """Production fills four nodes of twelve, as best fit does: four of each of two zones do it."""
    rows = [(0, 9000, 25, 10, at // 4) for at in range(16)]
    load = in_zones(workload([(100, 1000)] * 12, rows, used_share=1.0), [*"ab"] * 6)
    facts = answer_of_nodes(shrunk(load, survive=True)).facts
    staying = [one for one in facts if one.because == "kept"]
    assert (facts[0].value, facts[0].about_it("case")) == (8, "no_more_often")
    assert {one.about_it("of") for one in staying} == {2}


@pytest.mark.parametrize("zones", [[None] * 5, ["a"] * 5])
def test_without_two_zones_nothing_can_be_survived(zones: list[str | None]) -> None:
    with pytest.raises(TracekitError):
        shrunk(in_zones(LOPSIDED, zones), survive=True)


@pytest.mark.slow
def test_a_store_is_asked_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The zone comes of a label of Kubernetes; a study in a folder says the same."""
    label = '"{""topology.kubernetes.io/zone"": ""%s""}"'
    nodes = [f"n{at},8000,34359738368,{label % 'ab'[at % 2]}" for at in range(8)]
    rows = {
        "nodes.csv": ["node,cpu_milli,memory_bytes,labels", *nodes],
        "containers.csv": [
            "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes",
            *(f"c{at},s,n{at % 8},0,,2000,1073741824" for at in range(8)),
        ],
        "usage.csv": [
            "container,time_ms,cpu_milli,memory_bytes",
            *(f"c{at},{30_000 * step},500,1048576" for at in range(8) for step in range(8)),
        ],
    }
    ingest(written(tmp_path / "cluster", rows), tmp_path / "store")
    call = ["nodes", str(tmp_path / "store"), "--survive", "zone", "--json"]
    assert run([*call, "--out", str(tmp_path / "study")]) == 0
    document = json.loads(capsys.readouterr().out)
    verdict, *_ = document["facts"]
    assert (verdict["kind"], verdict["value"], verdict["survives"]) == ("verdict", 4, "zone")
    today = next(one for one in document["facts"] if one["kind"] == "zone_loss")
    assert (today["because"], today["verdict"], today["of"]) == ("survives", "holds", 2)
    frame = pl.read_parquet(tmp_path / "study" / "zones.parquet")
    assert sorted(frame["case"].unique()) == ["kept", "today"]
    assert run(["report", str(tmp_path / "study"), "--out", str(tmp_path / "page.html")]) == 0
