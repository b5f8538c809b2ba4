"""Where all nodes are too few: how many more are enough, against clusters built by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from given_source import given_source
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload

from tracekit.answer.fewest.search.enough import enough_nodes
from tracekit.answer.fewest.search.limits import parse_limits
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.fewest.words import drains_told
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.errors import TracekitError
from tracekit.replay.policy.parse import parse_policy
from tracekit.replay.runs.one import in_order, replay_one
from tracekit.replay.workload.workload import Workload
from tracekit.seeds import order_seed
from tracekit.words import few

#: Eight nodes of 100, sixteen containers of 25 that use what they ask for: four nodes are full.
EVEN = workload([(100, 1000)] * 8, [(0, 9000, 25, 10)] * 16, used_share=1.0)

rows_of = some.lists(
    some.tuples(some.integers(1, 60), some.integers(1, 60)), min_size=2, max_size=9
)


@pytest.mark.parametrize(("scale", "more"), [(2.25, 1), (3, 4), (4, 8), (5, 12), (20, 72)])
def test_where_all_nodes_are_too_few_it_says_how_many_more_are_enough(
    scale: float, more: int
) -> None:
    """36, 48, 64, 80 and 320 containers, four on a node of 100; there are eight nodes."""
    asked = {"policies": ["best_fit"], "repeats": 1, "scale": scale}
    found = shrink_cluster(given_source(EVEN), **asked)  # type: ignore[arg-type]
    told = found.frames["policies"].row(0, named=True)
    assert (told["of"], told["nodes"], told["going"]) == (8, 8 + more, "added")
    assert told["bound"] == 8 + more
    assert told["overloaded_node_steps"] == 0
    added = found.frames["nodes"].filter(pl.col("like_node").is_not_null())
    assert added.height == more
    assert set(added["like_node"]) <= set(EVEN.node_ids)
    assert not set(added["node"]) & set(EVEN.node_ids)
    words = shrink_told.short(found).replace("\N{NO-BREAK SPACE}", " ")
    one = "1 more node is" if more == 1 else f"{more} more nodes are"
    assert f"The 8 nodes are too few for best_fit for {scale:g} times the containers" in words
    assert f"{one} enough in one order of arrival, which makes {8 + more}." in words
    assert f"No policy can do with fewer than {8 + more} like these." in words
    best = shrink_told.told(found)
    assert best is not None
    goes = drains_told.goes(best)
    assert goes.startswith(f"{more} to add, like those that are there")
    # others of their size may be tainted
    assert f"(like {few(sorted(set(added['like_node'])))})" in goes
    assert "the labels and taints of the node that it is like" in goes


def test_where_production_is_kept_more_nodes_are_for_placing_anew() -> None:
    """A headline that says to keep production stood above one that asks for 38 more nodes."""
    found = shrink_cluster(given_source(EVEN), policies=["best_fit"], repeats=1, scale=3)
    kept = dataclasses.replace(found, about={**found.about, "kept_placement": True, "scale": 1})
    words = shrink_told.short(kept).replace("\N{NO-BREAK SPACE}", " ")
    assert words.startswith(
        "Production ran on its nodes, and its placement is kept. Were all placed anew: the 8 nodes"
        " are too few for best_fit: 4 more nodes"
    )


def test_a_cordoned_node_stays_where_others_are_added() -> None:
    cordoned = np.isin(np.arange(8), [2])
    load = dataclasses.replace(EVEN, cordoned=cordoned)
    found = shrink_cluster(given_source(load), policies=["best_fit"], repeats=1, scale=3)
    nodes = found.frames["nodes"].filter("kept")
    assert set(EVEN.node_ids) <= set(nodes["node"])
    assert nodes.filter(pl.col("like_node").is_not_null()).height == nodes.height - 8


@pytest.mark.slow
@settings(max_examples=25)
@given(rows_of, some.sampled_from(["first_fit", "worst_fit"]), some.integers(1, 3))
def test_the_larger_cluster_holds_by_itself(
    sizes: list[tuple[int, int]], name: str, repeats: int
) -> None:
    """Built by hand and replayed: it holds, in every order, and one node fewer does not in one."""
    load = workload([(60, 100), (100, 60)], [(0, 9000, *size) for size in sizes], used_share=1.0)
    load = dataclasses.replace(load, exchangeable=np.ones(load.containers, dtype=np.bool_))
    policy, limits = parse_policy(name), parse_limits([], [name])
    try:
        found = enough_nodes(load, policy, limits, seed=3, repeats=repeats)
    except TracekitError:
        return
    shapes = [(60, 100), (100, 60), *(load.capacity[at].tolist() for at in found.like.tolist())]

    def waits(nodes: list[int]) -> bool:
        made = workload(
            [shapes[at] for at in nodes], [(0, 9000, *size) for size in sizes], used_share=1.0
        )
        made = dataclasses.replace(made, exchangeable=load.exchangeable)
        orders = [in_order(made, order_seed(3, at)) if at else made for at in range(repeats)]
        return any(
            replay_one(one, policy, order_seed(3, at)).row["pending"]
            for at, one in enumerate(orders)
        )

    if len(found.like):
        kept = sorted(found.place[: found.nodes].tolist())
        # none of those that were added goes, and it is worth that they were
        assert set(range(2, len(shapes))) <= set(kept)
        assert not waits(kept)
        assert waits(list(range(len(shapes) - 1)))


def test_a_container_that_by_itself_breaks_a_limit_is_named() -> None:
    """It uses 90 of 100 on whatever node it is, so that no number of nodes helps."""
    load = workload([(100, 100)] * 4, [(0, 9000, 90, 10), *[(0, 9000, 10, 10)] * 3], used_share=1.0)
    limits = parse_limits(["cpu_max_fraction <= 0.8"], ["worst_fit"])
    with pytest.raises(TracekitError) as told:
        enough_nodes(load, parse_policy("worst_fit"), limits, seed=0, repeats=1)
    assert str(told.value.hint).startswith("'c0' by itself needs 90.0 % of the CPU of the largest")
    assert "do not help" not in told.value.what


def test_beside_another_answer_nobody_asks_how_many_more() -> None:
    """Worst fit alone is asked about: where all are too few for best fit, no more are tried."""
    load = workload([(100, 1000)] * 4, [(0, 9000, 25, 10)] * 12, used_share=1.0)
    study = shrink_cluster(
        given_source(load),
        policies=["worst_fit", "best_fit"],
        limits=["cpu_max_fraction <= 0.8"],
        repeats=1,
        subject="worst_fit",
    )
    rows = {row["policy"]: row for row in study.frames["policies"].iter_rows(named=True)}
    assert rows["worst_fit"]["nodes"] == 4
    assert rows["best_fit"]["nodes"] is None
    assert rows["best_fit"]["problem"].startswith("already with all 4 nodes highest CPU")
    assert set(study.frames["sizes"].filter(policy="best_fit")["nodes"]) <= {4}


def _of_six_kinds() -> Workload:
    """Eleven nodes of six kinds, one of them with a GPU, which two ask for at a time."""
    sizes = [(100 + 10 * (at // 2), 1000) for at in range(10)]
    load = workload([*sizes, (100, 1000)], [(0, 9000, 30, 10)] * 12, used_share=1.0)
    gpu, asks = np.zeros((11, 1), np.int64), np.zeros((12, 1), np.int64)
    gpu[10], asks[:2] = 1, 1
    request = np.hstack([load.request, asks])
    return dataclasses.replace(
        load,
        resources=(*load.resources, "gpu"),
        capacity=np.hstack([load.capacity, gpu]),
        request=request,
        nonzero_request=request,
        limit=request,
    )


def test_what_those_lack_that_wait_may_be_of_a_rare_kind() -> None:
    """One more with a GPU is enough, of which there are fewest; of others no number helps."""
    load = _of_six_kinds()
    asked = {"policies": ["best_fit"], "repeats": 1, "limits": ["cpu_max_fraction <= 1"]}
    found = shrink_cluster(given_source(load), **asked)  # type: ignore[arg-type]
    told = found.frames["policies"].row(0, named=True)
    # twelve of 30 each, and nodes of 140, 140 and two with a GPU of 100: 8 + 4 more
    assert (told["of"], told["added_nodes"], told["nodes"], told["bound"]) == (11, 1, 4, 4)
    nodes = found.frames["nodes"]
    added = nodes.filter(pl.col("like_node").is_not_null())
    assert added["like_node"].to_list() == ["n10"]
    assert set(added["node"]) | {"n10"} <= set(nodes.filter("kept")["node"])
    words = shrink_told.short(found).replace("\N{NO-BREAK SPACE}", " ")
    # of six kinds it is said which
    which = "1 more node with 0.1 cores and 1,000 B and 1 GPU is enough in one order of arrival"
    assert f"{which}, which makes 12." in words
    assert "With it 8 of the 11 can go, so that 4 are enough." in words
    best = shrink_told.told(found)
    assert best is not None
    assert "Then 8 can go, " in drains_told.goes(best)


def test_where_more_do_not_help_the_limit_that_stops_them_is_named() -> None:
    """Best fit fills a node whatever their number."""
    with pytest.raises(TracekitError) as told:
        enough_nodes(
            EVEN, parse_policy("best_fit"), parse_limits(["cpu_max_fraction <= 0.9"], ["best_fit"]),
            seed=0, repeats=1,
        )  # fmt: skip
    assert told.value.what.endswith("twice as many nodes like these do not help")
    assert told.value.hint == "try another policy, or loosen the limit"


def test_a_mix_of_one_kind_is_called_by_it() -> None:
    """What is to be bought has a kind, also where it is one node of all the sizes there are."""
    load = workload([(100, 1000)] * 3 + [(200, 2000)], [(0, 9000, 90, 10)] * 6, used_share=1.0)
    asked = {"policies": ["best_fit"], "repeats": 1, "limits": ["cpu_max_fraction <= 1"]}
    found = shrink_cluster(given_source(load), **asked)  # type: ignore[arg-type]
    more = found.frames["kinds"].filter("chosen")
    assert more["more"].to_list() == [1]
    assert more["like_node"].null_count() == 0
