"""Where a policy lets containers wait with all nodes that production placed, nodes can go still."""

from __future__ import annotations

import pytest
from given_source import given_source
from replay_support import workload

from tracekit.errors import TracekitError
from tracekit.replay.studies.shrink.study import shrink_cluster
from tracekit.replay.studies.shrink.words import told
from tracekit.study import Study

#: Best fit puts both of 40 on the first node and one of 60 on the second: the other finds no room.
#: Production had one of each on both. The third node is of no use to anybody.
APART = workload(
    [(100, 1000), (100, 1000), (10, 100)],
    [(0, 9000, 40, 10, 0), (0, 9000, 40, 10, 1), (0, 9000, 60, 10, 0), (0, 9000, 60, 10, 1)],
)


def shrunk(*limits: str, policy: str = "best_fit", scale: float = 1.0) -> Study:
    return shrink_cluster(
        given_source(APART), policies=[policy], limits=limits, repeats=1, scale=scale
    )


def test_no_more_wait_than_with_all_nodes() -> None:
    study = shrunk()
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (2, 1)
    assert (
        "With all nodes 1\xa0container finds no node under it either, where production placed"
        " all; on fewer nodes no more do." in told.short(study)
    )
    assert "no more containers wait than with all" in told.short_within(study)


def test_where_nothing_waits_none_may() -> None:
    study = shrunk(policy="worst_fit")
    row = study.frames["policies"].row(0, named=True)
    assert (row["nodes"], row["waits_with_all"]) == (2, None)
    assert "either" not in told.short(study)
    assert "nothing waits" in told.short_within(study)


def test_a_limit_on_waiting_that_was_asked_for_holds() -> None:
    with pytest.raises(TracekitError, match="pending is 1"):
        shrunk("pending == 0", "pending_container_steps == 0")


def test_more_load_than_production_had_needs_more_nodes() -> None:
    study = shrunk(scale=1.5)
    row = study.frames["policies"].row(0, named=True)
    assert row["nodes"] > row["of"]
    assert row["waits_with_all"] is None
