"""Where a policy lets containers wait with all nodes that production placed, nodes can go still."""

from __future__ import annotations

import pytest
from given_source import given_source
from replay_support import Row, workload

from tracekit.answer.fewest.search.enough import enough_nodes
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.fewest.words import told, waits
from tracekit.answer.left_waiting import OF_WHAT, placed_all
from tracekit.errors import TracekitError
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.runs.may_wait import most_waiting
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study
from tracekit.verbs.nodes import nodes

#: Best fit puts both of 40 on the first node and one of 60 on the second: the other finds no room.
#: Production had one of each on both. The third node is of no use to anybody.
ROWS: list[Row] = [
    (0, 9000, 40, 10, 0),
    (0, 9000, 40, 10, 1),
    (0, 9000, 60, 10, 0),
    (0, 9000, 60, 10, 1),
]
#: Many others fill a node that they alone fit on, so that the largest two are 0.5 % of all.
OTHERS: Row = (0, 9000, 60, 2000, 3)
NODES = [(100, 1000), (100, 1000), (10, 100), (24_000, 800_000)]
APART = workload(NODES, [*[OTHERS] * 400, *ROWS])
#: There the one that waits is one of 199, which is more than may wait.
FEWER = workload([*NODES[:3], (195 * 60, 195 * 2000)], [*ROWS, *[OTHERS] * 195])


def shrunk(
    *limits: str, policy: str = "best_fit", scale: float = 1.0, load: Workload = APART
) -> Study:
    return shrink_cluster(
        given_source(load), policies=[policy], limits=limits, repeats=1, scale=scale
    )


def test_no_more_wait_than_with_all_nodes() -> None:
    study = shrunk()
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (3, 1)
    assert told.short(study).startswith(
        "3 of 4 nodes are enough for best_fit, but for 1 of 404\xa0containers, in one order of"
        " arrival: 1 can go, on which no container runs at the end. With all nodes"
    )
    assert (
        "With all nodes 1\xa0container finds no node under it either, where production placed"
        " all; on fewer nodes no more do." in told.short(study)
    )
    assert "no more containers wait than with all" in told.short_within(study)
    assert waits.limit(study) == (
        "no more wait than with all nodes, and at most 0.5% of the containers and of what they"
        " request of each resource"
    )
    (who,) = waits.who(study)
    assert who.startswith(
        "best_fit left 1\xa0container without a node in the first order of arrival: 1 of"
    )


def test_the_bound_is_of_placing_all_but_those() -> None:
    """All ask for 24,200; without one of 60 the largest two nodes are too small."""
    study = shrunk()
    row = study.frames["policies"].row(0, named=True)
    assert row["bound"] == 3
    found = told.told(study)
    assert found is not None
    that = "that leaves at most 1\xa0container without a node"
    assert told.bound(found) == f"No placement {that} gets by with fewer than 3\xa0nodes (proven)."
    assert f"No policy {that} can do with fewer than 3." in told.short(study)


@pytest.mark.slow
def test_where_more_wait_than_may_there_are_too_few_nodes() -> None:
    row = shrunk(load=FEWER).frames["policies"].row(0, named=True)
    assert row["added_nodes"]
    assert row["waits_with_all"] is None
    assert (most_waiting(APART), most_waiting(FEWER)) == (2, 0)
    assert (placed_all({"pending": 0}), placed_all(None), placed_all({"pending": 1})) == (
        True,
        False,
        False,
    )
    assert not placed_all({"pending": 0, "pending_container_steps": 3})


def test_the_largest_count_as_what_they_request() -> None:
    """Of 1,000 five may wait; a database of 8 % may not, nor one that asks for all the GPUs."""
    small: list[Row] = [(0, 9000, 1, 1, 0)] * 999
    nodes = [(2000, 2000)]
    assert most_waiting(workload(nodes, [*small, (0, 9000, 1, 1, 0)])) == 5
    assert most_waiting(workload(nodes, [*small, (0, 9000, 80, 1, 0)])) == 0
    assert most_waiting(workload(nodes, [*small, (0, 9000, 1, 80, 0)])) == 0
    assert most_waiting(workload(nodes, [*small, (0, 9000, 3, 1, 0)])) == 3


@pytest.mark.slow
def test_what_waits_in_any_order_is_left_out_of_the_bound() -> None:
    """In the order as given all are placed; in others one of 60 finds both nodes taken."""
    load = workload(NODES, [*[OTHERS] * 400, *ROWS[2:], *ROWS[:2]])
    study = shrink_cluster(given_source(load), policies=["best_fit"], repeats=6, seed=1)
    row = study.frames["policies"].row(0, named=True)
    held = study.frames["sizes"].filter(nodes=row["nodes"]).sort("repeat")
    left = held["pending"].cast(int).to_list()
    assert (left[0], max(left)) == (0, 1)
    assert row["waits_with_all"] == 1
    assert row["bound"] <= row["nodes_low"]
    assert "but for up to 1 of 404" in told.short(study)
    by_order = f"{', '.join(map(str, left[:-1]))} and {left[-1]} containers"
    assert any(f"leaves {by_order} without a node" in one for one in waits.who(study))


def test_where_nothing_waits_none_may() -> None:
    study = shrunk(policy="worst_fit")
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (3, None)
    assert "either" not in told.short(study)
    assert waits.limit(study) == "every container is placed at once"
    assert waits.who(study) == []
    assert "nothing waits" in told.short_within(study)


@pytest.mark.slow
def test_a_limit_on_waiting_that_was_asked_for_holds() -> None:
    row = shrunk("pending == 0", "pending_container_steps == 0").frames["policies"]
    assert row["added_nodes"].item()


@pytest.mark.slow
def test_more_load_than_production_had_needs_more_nodes() -> None:
    study = shrunk(scale=1.5)
    row = study.frames["policies"].row(0, named=True)
    assert row["added_nodes"]
    assert row["waits_with_all"] is None


def test_where_production_does_not_respect_requests_no_choice_of_nodes_is_blamed() -> None:
    """It blamed the policy, and said in the same breath that no policy can do with fewer than 3."""
    rows = [(0, 9000, 5, 1, 0), (0, 9000, 5, 1, 1), (0, 9000, 5, 1, 0)]
    load = workload([(8, 64)] * 2, rows)
    study = shrunk(policy="least_allocated", load=load)
    row = study.frames["policies"].row(0, named=True)
    assert (row["bound"], row["nodes"]) == (3, 3)
    said = told.short(study).replace("\xa0", " ")
    assert (
        "Production placed all containers on 2 nodes, but its placement does not respect requests:"
        " 1 container had too little room on its node."
    ) in said
    assert "choice of nodes" not in said
    assert "does not respect requests" in hint_without_further(load, used=2)


def hint_without_further(load: Workload, *, used: int) -> str:
    """The hint of a search that may add no nodes, where production ``used`` so many."""
    limits = parse_limits((), ["best_fit"], observed={"nodes_used_max": used})
    with pytest.raises(TracekitError) as raised:
        enough_nodes(
            load, parse_entrant("best_fit"), limits,
            seed=0, repeats=1, may_wait=True, further=False,
        )  # fmt: skip
    return str(raised.value.hint).replace("\xa0", " ")


@pytest.mark.slow
def test_where_production_placed_all_it_is_the_policy_and_not_the_nodes() -> None:
    cause = "production placed all containers on 3 nodes: it is the policy's choice of nodes"
    assert f" {cause.replace('p', 'P', 1)}" in told.short(shrunk(load=FEWER)).replace("\xa0", " ")
    assert "choice of nodes" not in told.short(shrunk())
    assert hint_without_further(FEWER, used=3).startswith(cause)
    assert OF_WHAT.replace("%", " %") in nodes.__annotations__["limits"]
