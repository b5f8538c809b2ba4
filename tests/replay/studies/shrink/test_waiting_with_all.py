"""Where a policy lets containers wait with all nodes that production placed, nodes can go still."""

from __future__ import annotations

from given_source import given_source
from replay_support import Row, workload

from tracekit.replay.answer.left_waiting import most_waiting
from tracekit.replay.studies.shrink.study import shrink_cluster
from tracekit.replay.studies.shrink.words import told, waits
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study

#: Best fit puts both of 40 on the first node and one of 60 on the second: the other finds no room.
#: Production had one of each on both. The third node is of no use to anybody.
ROWS: list[Row] = [
    (0, 9000, 40, 10, 0),
    (0, 9000, 40, 10, 1),
    (0, 9000, 60, 10, 0),
    (0, 9000, 60, 10, 1),
]
NODES = [(100, 1000), (100, 1000), (10, 100)]
#: Many that ask for nothing, so that the one that waits is one of 200.
APART = workload(NODES, [*ROWS, *[(0, 9000, 0, 0, 0)] * 196])
#: There it is one of 199, which is more than may wait.
FEWER = workload(NODES, [*ROWS, *[(0, 9000, 0, 0, 0)] * 195])


def shrunk(
    *limits: str, policy: str = "best_fit", scale: float = 1.0, load: Workload = APART
) -> Study:
    return shrink_cluster(
        given_source(load), policies=[policy], limits=limits, repeats=1, scale=scale
    )


def test_no_more_wait_than_with_all_nodes() -> None:
    study = shrunk()
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (2, 1)
    assert told.short(study).startswith(
        "2 of 3 nodes are enough for best_fit, but for 1 of 200\xa0containers, in one order of"
        " arrival: 1 can go. With all nodes"
    )
    assert (
        "With all nodes 1\xa0container finds no node under it either, where production placed"
        " all; on fewer nodes no more do." in told.short(study)
    )
    assert "no more containers wait than with all" in told.short_within(study)
    assert waits.limit(study) == (
        "of the containers no more wait than with all nodes, and at most 1 (0.5%)"
    )
    (who,) = waits.who(study)
    assert who.startswith(
        "best_fit never placed 1\xa0container in the first order of arrival: 1 of"
    )


def test_the_bound_is_of_placing_all_but_those() -> None:
    """All ask for 200; without one of 60 they need two nodes."""
    study = shrunk()
    row = study.frames["policies"].row(0, named=True)
    assert row["bound"] == 2
    found = told.told(study)
    assert found is not None
    that = "that leaves at most 1\xa0container without a node"
    assert told.bound(found) == f"No placement {that} gets by with fewer than 2\xa0nodes (proven)."
    assert f"No policy {that} can do with fewer than 2." in told.short(study)


def test_where_more_wait_than_may_there_are_too_few_nodes() -> None:
    row = shrunk(load=FEWER).frames["policies"].row(0, named=True)
    assert row["nodes"] > row["of"]
    assert row["waits_with_all"] is None
    assert (most_waiting({"pending": 0}, 200), most_waiting({"pending": 0}, 199)) == (1, 0)
    assert (most_waiting(None, 10_000), most_waiting({"pending": 1}, 10_000)) == (0, 0)
    assert most_waiting({"pending": 0, "pending_container_steps": 3}, 10_000) == 0


def test_where_nothing_waits_none_may() -> None:
    study = shrunk(policy="worst_fit")
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (2, None)
    assert "either" not in told.short(study)
    assert waits.limit(study) == "every container is placed at once"
    assert waits.who(study) == []
    assert "nothing waits" in told.short_within(study)


def test_a_limit_on_waiting_that_was_asked_for_holds() -> None:
    row = shrunk("pending == 0", "pending_container_steps == 0").frames["policies"]
    assert row["nodes"].item() > row["of"].item()


def test_more_load_than_production_had_needs_more_nodes() -> None:
    study = shrunk(scale=1.5)
    row = study.frames["policies"].row(0, named=True)
    assert row["nodes"] > row["of"]
    assert row["waits_with_all"] is None
