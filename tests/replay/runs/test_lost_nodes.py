"""Which nodes are lost, told by name: an answer holds for the loss of these."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from replay_support import workload

from tracekit.replay.runs.lost_nodes import (
    counts_as_needed,
    displaced_told,
    lost_nodes,
    lost_told,
    no_other_loss,
)
from tracekit.replay.workload.circumstances import under
from tracekit.replay.workload.workload import Workload


def losing(text: str) -> Workload:
    load = workload([(20, 20)] * 9, [(0, 9000, 10, 10)] * 4, steps=6)
    return under(load, {"lost": text}, np.random.default_rng(0))


def test_the_drawn_node_is_named() -> None:
    load = losing("1@2s")
    assert load.losses is not None
    name = load.node_ids[int(load.losses.node[0])]
    assert lost_nodes(load) == [{"node": name, "after_ms": 2000, "drawn": True}]
    assert lost_told(lost_nodes(load)) == f"1 node is lost: {name} after 2 s, which the seed drew"
    assert no_other_loss(lost_nodes(load)) == f"the loss of another node than {name}"


@pytest.mark.parametrize(
    ("text", "told", "uncovered"),
    [
        ("n3@2s", "1 node is lost: n3 after 2 s", ""),
        ("n3@2s,n5@0s", "2 nodes are lost: n5 after 0 ms, n3 after 2 s", ""),
    ],
)
def test_who_asked_for_a_node_by_name_knows_it(text: str, told: str, uncovered: str) -> None:
    lost = lost_nodes(losing(text))
    assert lost_told(lost) == told
    assert no_other_loss(lost) == uncovered
    assert counts_as_needed(lost).startswith(f"{told}; ")


def test_of_named_and_drawn_nodes_the_drawn_ones_are_told() -> None:
    load = losing("n3@0s,2@2s")
    assert load.losses is not None
    drawn = [load.node_ids[int(node)] for node in load.losses.node if load.node_ids[node] != "n3"]
    lost = lost_nodes(load)
    assert lost_told(lost).endswith(f"; the seed drew {drawn[0]} and {drawn[1]}")
    assert no_other_loss(lost) == f"the loss of other nodes than {drawn[0]} and {drawn[1]}"


def test_nobody_is_lost() -> None:
    load = workload([(20, 20)] * 2, [(0, 9000, 10, 10)])
    lost = lost_nodes(load)
    assert lost == []
    assert (lost_told(lost), counts_as_needed(lost), no_other_loss(lost)) == ("", "", "")


LOSSES = [
    ((0, 0), "no container lost its node"),
    ((1, 0), "1 container lost its node and found another"),
    ((4, 4), "4 containers lost their node and found no other"),
    ((4, 1), "4 containers lost their node: 1 found no other, 3 did"),
]


@pytest.mark.parametrize(("counts", "said"), LOSSES)
def test_what_became_of_containers_on_lost_nodes_is_told_once(
    counts: tuple[int, int], said: str
) -> None:
    """A line a policy said "1 containers lost their node, 0 of them found no other"."""
    rows = [("a", *counts), ("b", *counts), ("c", 9, 0), ("bound", None, None)]
    columns = ["policy", "evicted_by_loss", "unplaced_after_loss"]
    assert displaced_told(pl.DataFrame(rows, schema=columns, orient="row")) == [
        f"under a and b {said}",
        "under c 9 containers lost their node and found another",
    ]


ROOM = "made room for containers of higher priority"
EVICTIONS = [
    ((0, 0), "no container was evicted for one of higher priority"),
    ((1, 0), f"1 eviction {ROOM}; all that were evicted ran again"),
    ((3, 1), f"3 evictions {ROOM}; 1 evicted container found no other node"),
]


@pytest.mark.parametrize(("counts", "said"), EVICTIONS)
def test_evictions_are_told(counts: tuple[int, int], said: str) -> None:
    """No line of a terminal or a report mentioned them."""
    columns = ["policy", "evictions", "unplaced_after_eviction"]
    made = pl.DataFrame([("a", *counts)], schema=columns, orient="row")
    assert displaced_told(made) == [f"under a {said}"]
    # other orders have other numbers: 3, 1, 1 and 2 evictions in one run
    assert displaced_told(made, orders=6) == [f"under a in the first order of arrival {said}"]
    assert displaced_told(made.select("policy")) == []
