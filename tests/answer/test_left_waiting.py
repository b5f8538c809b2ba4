"""How many containers a policy may leave waiting: one rule, read by every sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from tracekit.answer.advice import sentence
from tracekit.answer.all_wait import all_wait
from tracekit.answer.decision import decision
from tracekit.answer.fitness import left_out, rule
from tracekit.answer.left_waiting import few_wait, leaves, waits_in_others, waits_too_much
from tracekit.answer.overview import COLUMNS, overview
from tracekit.answer.preferred import USUAL, preferred, why_first
from tracekit.answer.standings import standings
from tracekit.replay.runs.may_wait import MAY_WAIT
from tracekit.replay.runs.results import Results

CONTAINERS, STEPS = 1000, 100
MEASURE, STRANDED = "cpu_max_fraction", "cpu_stranded_share"


def run(
    left: dict[str, tuple[int, ...]],
    steps: int = 0,
    middles: dict[str, float] | None = None,
    measure: str = MEASURE,
) -> Results:
    """Policies by the containers that they never place, in six orders, one value of the measure."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = [
        {
            "policy": name,
            "repeat": at,
            "pending": some[at % len(some)],
            "pending_container_steps": steps if name != "observed" and any(some) else 0,
            "overloaded_node_steps": 0.0,
            measure: (middles or {}).get(name, 0.5) + 0.001 * rng.normal(),
        }
        for at in range(6)
        for name, some in left.items()
    ]
    frame = pl.DataFrame(rows)
    policies = [{"policy": name, "name": name} for name in left]
    load = {"nodes": 10, "steps": STEPS, "containers": CONTAINERS, MAY_WAIT: 5}
    about = {"workload": load, "seed": 0, "policies": policies}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


@pytest.mark.parametrize(
    ("production", "left", "steps", "barred"),
    [
        ({"observed": (0,)}, (5, 0), 0, False),
        ({"observed": (0,)}, (0, 6), 0, True),
        ({"observed": (0,)}, (5,), 5 * STEPS, False),
        ({"observed": (0,)}, (5,), 5 * STEPS + 1, True),
        # as many as in production, and no more: nothing says that all have room
        ({"observed": (1,)}, (1,), 0, False),
        ({"observed": (1,)}, (2,), 0, True),
        ({}, (1,), 0, True),
    ],
)
def test_up_to_five_in_a_thousand_may_wait_where_production_placed_all(
    production: dict[str, tuple[int, ...]], left: tuple[int, ...], steps: int, barred: bool
) -> None:
    found = run({**production, "a": left, "b": (0,)}, steps)
    assert waits_too_much(found, "a") == barred
    assert ("a" in [name for one in left_out(found) for name in one.names]) == barred
    row = standings(found, "overloaded_node_steps").row("a")
    assert row is not None
    assert row.waited == barred
    assert bool(leaves(found, "a")) != barred


def test_who_waits_in_other_orders_than_the_first_is_told_as_not_noted() -> None:
    found = run({"a": (0, 2, 0), "b": (0,), "c": (3,), "d": (0, 0, 0, 0, 0, 1)})
    first = "orders of arrival, but none in the first, of which alone it is noted who waits"
    assert waits_in_others(found, found.policies) == [
        f"a left up to 2 containers without a node in 2 of 6 {first}",
        f"d left 1 container without a node in 1 of 6 {first}",
    ]


@pytest.mark.parametrize(
    ("production", "told"),
    [
        ({"observed": (0,)}, "; production placed all."),
        ({"observed": (4,)}, "; production left 4."),
    ],
)
def test_who_waits_stands_beside_who_waits_in_production(
    production: dict[str, tuple[int, ...]], told: str
) -> None:
    """It said that production placed all, whatever it did."""
    middles = {"observed": 0.9, "a": 0.5, "b": 0.9}
    found = run({**production, "a": (3, 4), "b": (0,)}, middles=middles, measure=STRANDED)
    said = f"a leaves up to 4 of 1,000 containers without a node{told}"
    assert sentence(found, decision(found)).endswith(said)


def test_the_answer_says_how_many() -> None:
    middles = {"observed": 0.9, "a": 0.5, "b": 0.9}
    found = run({"observed": (0,), "a": (3, 4), "b": (0,)}, middles=middles, measure=STRANDED)
    told = decision(found)
    assert told.chosen == ("a",)
    assert sentence(found, told).endswith(
        ". a leaves up to 4 of 1,000 containers without a node; production placed all."
    )
    of_each = "0.5% of the containers and of what they request of each resource"
    assert f"at most 5 waiting ({of_each}, as production placed all)" in rule(found)
    assert few_wait(found) == (
        f"Where production placed all, a policy may leave up to 5 waiting ({of_each}): a leaves up"
        " to 4 of 1,000 containers without a node."
    )
    assert few_wait(found) in told.not_told


def test_who_left_some_is_not_better_by_use() -> None:
    """What does not run uses nothing: the highest use is of less load."""
    middles = {"observed": 0.9, "a": 0.5, "b": 0.9}
    found = run({"observed": (0,), "a": (3, 4), "b": (0,)}, middles=middles)
    assert decision(found).chosen == ()
    last = standings(found, MEASURE).rows[-1]
    assert (last.names, last.waited) == (("a",), True)


def test_who_places_all_goes_first() -> None:
    middles = {"observed": 0.9, "a": 0.5, "b": 0.7}
    left: dict[str, tuple[int, ...]] = {"observed": (0,), "a": (1,), "b": (0,)}
    told = decision(run(left, middles=middles, measure=STRANDED))
    assert told.chosen == ("b",)
    assert "of the policies that may be chosen and place all" in told.answer


def test_the_bound_says_that_it_is_of_placing_all() -> None:
    for left, name in ((0, "bound"), (1, "bound of placing all")):
        found = run({"observed": (0,), "a": (left,), "b": (0,)})
        row = found.summary.filter(policy="b").with_columns(policy=pl.lit("bound"))
        found = dataclasses.replace(found, summary=pl.concat([found.summary, row]))
        assert overview(found).rows[-1][0] == name


def test_many_more_nodes_than_production_are_told() -> None:
    found = run({"observed": (0,), "a": (0,), "b": (0,)}, middles={"observed": 0.9, "b": 0.9})

    def on(nodes: dict[str, float]) -> str:
        frames = [
            frame.with_columns(nodes_used_mean=pl.col("policy").replace_strict(nodes))
            for frame in (found.summary, found.repeats)
            if frame is not None
        ]
        made = dataclasses.replace(found, summary=frames[0], repeats=frames[1])
        return sentence(made, decision(made))

    more = on({"observed": 10.0, "a": 20.0, "b": 10.0})
    assert more.startswith("Use a: highest CPU use")
    assert more.endswith(" against production, at 10 more nodes on average.")
    assert "more nodes" not in on({"observed": 10.0, "a": 10.0, "b": 10.0})


def test_of_equal_ones_who_leaves_fewer_goes_first() -> None:
    """``default_scheduler`` goes before others but for that."""
    left: dict[str, tuple[int, ...]] = {"observed": (0,), USUAL: (2,), "b": (0,)}
    for some, order in ((2, ["b", USUAL]), (0, [USUAL, "b"])):
        found = run({**left, USUAL: (some,)})
        rows = [row for row in standings(found, MEASURE).rows if row.names != ("observed",)]
        assert [row.names[0] for row in preferred(found, rows)] == order
    worse = sorted(standings(run(left), MEASURE).rows, key=lambda row: row.names != ("b",))
    better = [dataclasses.replace(row, mean=row.mean - 1) for row in worse if USUAL in row.names]
    assert why_first(run(left), [worse[0], *better], MEASURE) == (
        "it leaves fewer containers without a node than default_scheduler"
    )


LEAST = (
    "under every policy some containers wait before they get a node, the least under a: 7"
    " container-steps in the first order of arrival"
)


@pytest.mark.parametrize(
    ("never", "said", "column"),
    [
        (
            {"a": 0, "b": 0},
            f"{LEAST}; in the end all are placed",
            ("wait steps", ["7", "50,000"]),
        ),
        (
            {"a": 0, "b": 2},
            f"{LEAST}; in the end a places all",
            ("pending", ["0", "2"]),
        ),
        (
            {"a": 1, "b": 2},
            "every policy leaves containers without a node, the fewest a: 1 left without one",
            ("pending", ["1", "2"]),
        ),
    ],
)
def test_where_all_wait_the_table_shows_the_number_that_the_headline_names(
    never: dict[str, int], said: str, column: tuple[str, list[str]]
) -> None:
    """It said "every policy leaves containers waiting" above a column of zeros."""
    found = run({name: (some,) for name, some in never.items()})
    steps = pl.col("policy").replace_strict({"a": 7, "b": 50_000})
    found = dataclasses.replace(
        found, summary=found.summary.with_columns(pending_container_steps=steps)
    )
    assert all_wait(found, ["b", "a"]).startswith(said)
    seen, (head, values) = overview(found), column
    at = seen.heads.index(head)
    assert [row[at] for row in seen.rows] == values
    assert [row[0] for row in seen.rows] == ["a *", "b *"]
    assert ("wait steps" in " ".join(seen.note)) == (head == "wait steps")
    assert len(seen.heads) <= COLUMNS + 1


def test_who_waits_for_a_while_is_told_so() -> None:
    found = run({"observed": (0,), "a": (0,)}, steps=0)
    waited = found.summary.with_columns(
        pl.when(pl.col("policy") == "a").then(7).otherwise(0).alias("pending_container_steps")
    )
    found = dataclasses.replace(found, summary=waited)
    assert leaves(found, "a") == "lets some containers wait before they get a node"
