"""A policy that needs nodes to be added beside one that does not: two clusters, of which one is."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest
from given_source import given_source
from replay_support import workload

from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.beside import others
from tracekit.answer.fewest.words.cautions import nearly_full
from tracekit.answer.fewest.words.margin import breaks
from tracekit.answer.fewest.words.next import called
from tracekit.study import Study

#: Best fit fills a node to 90 %; worst fit spreads, and so leaves no room for the large one.
LOAD = workload([(100, 1000)] * 4, [*[(0, 9000, 30, 10)] * 4, (1000, 8000, 90, 10)], used_share=1.0)


def studied() -> Study:
    """Both policies, in one order of arrival."""
    return shrink_cluster(
        given_source(LOAD),
        policies=["worst_fit", "best_fit"],
        limits=["cpu_max_fraction <= 1"],
        repeats=1,
    )


def test_who_needs_no_further_nodes_leads() -> None:
    """The first line told people to buy a node, and another policy needed none."""
    study = studied()
    rows = {row["policy"]: row for row in study.frames["policies"].to_dicts()}
    assert rows["worst_fit"]["added_nodes"] > 0
    assert rows["best_fit"]["added_nodes"] == 0
    found = shrink_told.told(study)
    assert found is not None
    assert found.best["policy"] == "best_fit"
    assert study.frames["policies"]["policy"].to_list() == ["best_fit", "worst_fit"]
    assert "gets by with" not in shrink_told.bound(found).partition(". ")[2]


def test_two_clusters_are_not_compared_by_their_nodes() -> None:
    study = studied()
    six = dataclasses.replace(study, about={**study.about, "repeats": 6})
    orders = pl.concat([study.frames["orders"].with_columns(repeat=pl.lit(at)) for at in range(6)])
    six = dataclasses.replace(six, frames={**study.frames, "orders": orders})
    said = others(six, "best_fit")
    assert "more than there are" in said
    assert "chance" not in said


@pytest.mark.parametrize(
    ("fails", "bound", "told"), [(None, 4, "the lower bound is reached"), (None, 3, "not tried")]
)
def test_with_one_node_fewer_the_bound_is_reached_only_where_it_is(
    fails: str | None, bound: int, told: str
) -> None:
    row = {"fails": fails, "bound": bound, "nodes": 4, "fewer": 3}
    assert breaks(row) == told


def test_no_folder_of_a_further_study_is_another_ones() -> None:
    asked = [
        called(name, policy, {"least": least, "scale": scale})
        for name in ("cheapest", "fewest-1.3-times")
        for policy in ("first_fit", "best_fit")
        for least in ("nodes", "cost")
        for scale in (1, 2)
        if not (name == "cheapest" and least == "cost")
    ]
    # what is to be asked at 1.3 times is the same, whatever was asked before
    distinct = {name for name in asked if "1.3-times" not in name}
    assert len(distinct) == 4
    assert len({name for name in asked if "1.3-times" in name}) == 4


def test_memory_that_is_nearly_full_repeats_no_sentence() -> None:
    assert "The fullest node" not in nearly_full(0.97, 0.5)
