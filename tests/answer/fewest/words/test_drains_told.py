"""Which of the nodes that go no drain gets empty, by the budgets of who runs there."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from given_source import given_source
from replay_support import Row, workload

from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.fewest.words.drains_told import barred, goes, held
from tracekit.answer.fewest.words.told import told
from tracekit.replay.workload.budgets import budgets_of
from tracekit.replay.workload.changed.on_nodes import barred_by
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study


def under(*, daemon: bool = False, recorded: bool = True, **limit: object) -> Workload:
    """Four nodes with a container each; those of n2 and n3 are under one budget."""
    rows: list[Row] = [(0, 9000, 25, 10, at if recorded else -1) for at in range(4)]
    load = workload([(100, 1000)] * 4, rows, used_share=1.0)
    rule = json.dumps([{"kind": "PodDisruptionBudget", "name": "web", **limit}])
    budgets = budgets_of(pl.Series([None, None, rule, rule], dtype=pl.String))
    daemons = np.array([False, False, daemon, daemon])
    return dataclasses.replace(load, budgets=budgets, daemon=daemons)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (under(minAvailable=2), ("", "", "web", "web")),
        (under(maxUnavailable=0), ("", "", "web", "web")),
        (under(minAvailable=1), ("", "", "", "")),  # one at a time
        (under(minAvailable=2, daemon=True), ("", "", "", "")),  # a drain leaves daemons be
        (under(minAvailable=2, recorded=False), None),
        (workload([(100, 1000)], [(0, 9000, 25, 10, 0)]), None),
    ],
)
def test_a_budget_that_allows_nothing_bars_the_drain(
    load: Workload, expected: tuple[str, ...] | None
) -> None:
    assert barred_by(load) == expected


def test_who_is_under_two_budgets_is_never_evicted() -> None:
    load = under(minAvailable=0)
    assert load.budgets is not None
    two = dataclasses.replace(
        load.budgets,
        names=("a", "b"),
        of=np.array([[-1, -1], [-1, -1], [0, 1], [0, -1]]),
        available=np.array([True, True]),
        amount=np.array([0, 0]),
        percent=np.array([False, False]),
    )
    assert barred_by(dataclasses.replace(load, budgets=two)) == ("", "", "a, b", "")


def shrunk(load: Workload) -> Study:
    return shrink_cluster(given_source(load), policies=["best_fit"], repeats=1)


def test_the_nodes_that_go_and_are_barred_are_told() -> None:
    study = shrunk(under(minAvailable=2))
    found = told(study)
    assert found is not None
    gone = found.nodes.filter(~pl.col("kept"))["node"].to_list()
    expected = {node: "web" for node in gone if node in ("n2", "n3")}
    assert expected
    assert held(study, "best_fit") == expected
    said = barred(found)
    assert said.startswith(f"{len(expected)} of the 3 that can go cannot be drained before")
    assert all(f"{node} (web)" in said for node in expected)


def test_where_no_budget_bars_it_is_said_and_where_none_is_known_nothing_is() -> None:
    free, unknown = shrunk(under(minAvailable=1)), shrunk(under(recorded=False, minAvailable=2))
    said = [barred(found) for found in map(told, (free, unknown)) if found is not None]
    assert said == [
        "No PodDisruptionBudget bars any of the nodes that can go from being drained.",
        "",
    ]
    assert [held(free, "best_fit"), held(unknown, "best_fit")] == [{}, None]


def test_nodes_that_are_cordoned_are_told_where_more_are_to_be_added() -> None:
    """They carry load in the replay, and take nothing new: with them closed more are needed."""
    rows: list[Row] = [(0, 9000, 80, 10)] * 6
    load = workload([(100, 1000)] * 4, rows)
    cordoned = np.array([False, True, False, False])
    said = []
    for one in (load, dataclasses.replace(load, cordoned=cordoned)):
        found = told(
            shrink_cluster(given_source(one), policies=["first_fit"], limits=(), repeats=1)
        )
        assert found is not None
        said.append(goes(found))
    assert said[0].startswith("2 to add")
    assert "cordoned" not in said[0]
    assert said[1].endswith(
        "n1 is cordoned at the end and counts as open here: more are needed where it stays closed."
    )
