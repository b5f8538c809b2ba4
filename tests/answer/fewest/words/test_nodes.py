"""A drain restarts those that production runs on the nodes that go; further nodes have a shape."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from replay_support import workload
from shrink_support import shrunk

from tracekit.answer.fewest.words import nodes as of_nodes
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.errors import TracekitError

#: Eight nodes; two containers on each in production, of which one on each of n0 to n3 leaves.
ROWS = [
    *((0, 9000, 25, 10, at) for at in range(8)),
    *((0, 1500, 25, 10, at) for at in range(4)),
]
LOAD = workload([(100, 1000)] * 8, ROWS, used_share=1.0)


@pytest.mark.parametrize("daemons", [0, 3])
def test_who_runs_at_the_end_on_the_nodes_that_go_is_restarted(daemons: int) -> None:
    daemon = np.zeros(LOAD.containers, np.bool_)
    daemon[:daemons] = True
    load = dataclasses.replace(LOAD, daemon=daemon) if daemons else LOAD
    found = shrink_told.told(shrunk(load, "cpu_max_fraction <= 1"))
    assert found is not None
    gone = set(found.nodes.filter(~pl.col("kept"))["node"])
    # one for each node that goes, counted from the rows above
    there = [at for at in range(8) if f"n{at}" in gone and at >= daemons]
    assert gone
    assert of_nodes.restarted(found.nodes) == len(there)
    said = f"and the {len(there)} containers that run there at the end are restarted elsewhere"
    assert said in shrink_told.short(found.study)


def test_without_a_recorded_placement_nothing_is_said_of_restarts() -> None:
    load = workload([(100, 1000)] * 8, [row[:4] for row in ROWS], used_share=1.0)
    found = shrink_told.told(shrunk(load, "cpu_max_fraction <= 1"))
    assert found is not None
    assert of_nodes.restarted(found.nodes) is None
    assert "restarted" not in shrink_told.short(found.study)


@pytest.mark.parametrize(
    ("nodes", "several"), [([(100, 1000)] * 2, False), ([(100, 1000), (200, 1000)], True)]
)
def test_nodes_to_add_have_a_shape_where_there_are_several(
    nodes: list[tuple[int, int]], several: bool
) -> None:
    """Only "3 more nodes are enough" stood there, and three of the smaller kind were not."""
    load = workload(nodes, [(0, 9000, 90, 10)] * 5, used_share=1.0)
    found = shrink_told.told(shrunk(load, "cpu_max_fraction <= 1"))
    assert found is not None
    assert found.best["added_nodes"] > 0
    more = found.nodes.filter(pl.col("like_node").is_not_null())
    said = f"more node{'s' * (more.height > 1)}{of_nodes.of_added(found.nodes)} "
    assert said in shrink_told.short(found.study)
    assert bool(of_nodes.of_added(found.nodes)) == several
    assert all(f"{cores:g} cores" in said for cores in more["cpu_cores"] if several)


@pytest.mark.parametrize("start", ["empty", "observed"])
def test_what_stays_is_named_where_no_number_of_nodes_helps(start: str) -> None:
    load = workload([(100, 1000)] * 2, [(0, 9000, 80, 10, 0)] * 2, used_share=1.0)
    pinned = np.array([0, 0]) if start == "observed" else None
    load = dataclasses.replace(load, pinned=pinned, assumptions={"start": start})
    if start == "empty":
        assert shrunk(load, "cpu_max_fraction <= 1").frames["policies"]["nodes"].to_list() == [2]
        return
    with pytest.raises(TracekitError) as raised:
        shrunk(load, "cpu_max_fraction <= 1")
    assert "what ran at the beginning stays where it was (start=observed)" in str(raised.value.hint)
