"""A run in which every policy leaves containers waiting: who is alike, and what helps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tracekit.answer.all_wait import fewest_waiting, told
from tracekit.report.contents.answer import told_apart
from tracekit.report.contents.answer.next_steps import following
from tracekit.report.contents.gaps import gap_table
from tracekit.report.data import Data
from tracekit.report.figures import get_figure

#: Policies, the mean of those never placed, and the nodes in use.
WAITS = {"mine": (40, 290), "default_scheduler": (41, 260), "best_fit": (350, 160)}


def packed(*, nodes: int = 1500, departures: str = "none", **waits: tuple[float, float]) -> Data:
    """Six orders; those never placed vary by three, more than the first two policies differ."""
    rng = np.random.default_rng(3)
    rows = [
        {
            "policy": name,
            "repeat": at,
            "seed": at,
            "pending": float(never + rng.integers(-3, 4) * (never > 0)),
            "overloaded_node_steps": 0.0,
            "nodes_used_mean": used + rng.uniform(-2, 2),
        }
        for name, (never, used) in (waits or WAITS).items()
        for at in range(6)
    ]
    repeats = pl.DataFrame(rows)
    summary = repeats.filter(repeat=0).drop("repeat", "seed")
    bound = {"policy": "bound", "pending": 0.0, "overloaded_node_steps": 0.0, "nodes_used_mean": 9}
    summary = pl.concat([summary, pl.DataFrame([bound])], how="diagonal_relaxed")
    load = {
        "name": "s",
        "nodes": nodes,
        "steps": 100,
        "containers": 8000,
        "assumptions": {"departures": departures, "full_cpu_cores": 104.0},
        "quantities": {"departures": "recorded"},
    }
    policies = [{"policy": name, "parameters": {}} for name in waits or WAITS]
    run = {
        "workload": load,
        "repeats_cover": ["order of arrival"],
        "repeats": 6,
        "policies": policies,
        "seed": 0,
    }
    gaps = summary.with_columns(nodes_used_mean_gap=pl.lit(None, pl.Float64))
    return Data(run=run, run_frames={"summary": gaps, "repeats": repeats})


def test_who_is_alike_and_who_is_worse_beyond_chance_is_said() -> None:
    data = packed()
    assert data.results is not None
    assert data.decision is not None
    alike, worse = fewest_waiting(data.results, "pending")
    assert sorted(alike) == ["default_scheduler", "mine"]
    assert worse == ["best_fit"]
    said = data.decision.answer
    assert f"; within chance of that: {alike[1]}; more, beyond chance: best_fit" in said
    lead = told_apart.standing_sentence(data)
    assert lead.endswith(
        f"Containers left without a node tells some of them apart: {alike[1]} is within chance of"
        f" {alike[0]}, best_fit worse beyond chance."
    )


@pytest.mark.parametrize(
    ("alike", "worse", "said"),
    [
        ([], [], ""),
        (["a"], [], "; within chance of that: a"),
        ([], ["b", "c"], "; more, beyond chance: b and c"),
        (list("abcdefg"), [], "; within chance of that: a, b, c and 4 more"),
    ],
)
def test_clauses(alike: list[str], worse: list[str], said: str) -> None:
    assert told(alike, worse) == said


def test_the_trade_off_is_that_of_nodes_and_of_who_waits() -> None:
    data = packed()
    assert told_apart.wait_everywhere(data)
    figure = get_figure("waiting_tradeoff")
    frame = figure.prepare(data)
    assert sorted(frame["policy"]) == sorted(WAITS)
    assert (
        figure.draw(frame).layout.yaxis.title.text == "Containers left without a node [containers]"
    )
    said = figure.takeaway(frame).replace("\u00a0", " ")
    assert "leaves fewest waiting" in said
    assert "best_fit uses fewest of all, 159 (350 left without a node)." in said
    texts = {one.text for one in figure.narrow(frame).layout.annotations}  # type: ignore[misc]
    assert "best_fit" in texts
    none = packed(one=(0, 9), other=(0, 8))
    assert not told_apart.wait_everywhere(none)


def test_a_bound_that_holds_for_nobody_is_no_table() -> None:
    found = gap_table(packed())
    assert found is not None
    assert found.rows == []


def commands_of(data: Data) -> list[str]:
    assert data.decision is not None
    return [command for _, command in following(data, data.decision)]


def test_what_is_proposed_helps() -> None:
    """No search for nodes where all are too few and it takes hours, and no other policies."""
    more, departing = commands_of(packed())
    assert "--policy mine" in more
    assert "best_fit" not in more
    assert "--repeat 20" in more
    assert "departures" not in departing
    assert "--policy best_fit" in departing
    assert [one for one in commands_of(packed(departures="recorded")) if "departing" in one] == []


def test_more_nodes_are_searched_for_where_that_takes_minutes() -> None:
    *_, last = commands_of(packed(nodes=100))
    assert last.startswith("tracekit nodes ")
    assert "--policy best_fit" not in last
