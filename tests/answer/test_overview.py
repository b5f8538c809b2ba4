"""The table of a run on one screen: what decides stands first, what bars a policy beside it."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.answer.decision import decision
from tracekit.answer.overview import overview
from tracekit.replay.runs.results import Results

ORDERS = 10
#: By policy: stranded CPU, overloaded node-steps, highest CPU use.
VALUES = {"packs": (0.01, 900, 0.9), "spreads": (0.1, 0, 0.5), "best": (0.05, 0, 0.7)}


def _made(orders: int) -> Results:
    rng = np.random.Generator(np.random.PCG64(3))
    rows = [
        {
            "repeat": repeat,
            "seed": repeat,
            "policy": policy,
            "cpu_max_fraction": used + 0.001 * rng.normal(),
            "memory_max_fraction": used + 0.001 * rng.normal(),
            "nodes_used_mean": 10.0 + used,
            "cpu_stranded_share": stranded + 0.001 * rng.normal(),
            "memory_stranded_share": stranded + 0.001 * rng.normal(),
            "overloaded_node_steps": over,
            "pending": 0,
        }
        for policy, (stranded, over, used) in VALUES.items()
        for repeat in range(orders)
    ]
    repeats = pl.DataFrame(rows)
    summary = repeats.filter(repeat=0).drop("repeat", "seed")
    manifest = {
        "repeats_cover": ["order of arrival"],
        "policies": [],
        "workload": {"nodes": 10, "steps": 100},
    }
    return Results(manifest, summary, repeats if orders > 1 else None)


def test_what_decides_is_the_first_column_and_sorts_the_rows() -> None:
    found = _made(ORDERS)
    measure = found.measures[decision(found).criterion]
    seen = overview(found)
    assert seen.heads[1].startswith(measure.short)
    always = ["nodes", "cpu max [%]", "mem max [%]", "over"]
    rest = [head for head in always if head != seen.heads[1]]
    assert list(seen.heads[2 : 2 + len(rest)]) == rest
    assert set(always) <= set(seen.heads)
    assert len(seen.heads) == 6
    assert seen.note[0].lower() == f"by {measure.title.lower()}, which decides"
    means = [float(row[1].split()[0]) for row in seen.rows]
    assert means == sorted(means)


def test_who_is_barred_has_a_mark() -> None:
    """The one that packs is best by what decides, and overloads nodes."""
    found = _made(ORDERS)
    told = {name for one in decision(found).left_out for name in one.names}
    assert told == {"packs"}
    seen = overview(found)
    assert sorted(row[0] for row in seen.rows) == ["best", "packs *", "spreads"]
    assert "*: barred, not to be chosen" in seen.note
    alone = {name: VALUES[name] for name in ("spreads", "best")}
    assert found.repeats is not None
    keeps = pl.col("policy").is_in(list(alone))
    free = Results(found.manifest, found.summary.filter(keeps), found.repeats.filter(keeps))
    assert not any("*" in text for text in (*overview(free).note, *overview(free).rows[0]))


def test_where_nothing_can_be_told_nothing_decides() -> None:
    seen = overview(_made(1))
    assert not any("decides" in said for said in seen.note)
    assert {row[0].removesuffix(" *") for row in seen.rows} == set(VALUES)


def test_what_no_container_asks_for_has_no_measure() -> None:
    """0 of all memory reads like a measured value."""
    made = _made(ORDERS)
    assert made.repeats is not None
    idle = [name for name in made.summary.columns if name.startswith("memory")]
    none = [pl.lit(0.0).alias(name) for name in idle]
    summary, repeats = made.summary.with_columns(none), made.repeats.with_columns(none)
    found = Results(made.manifest, summary, repeats)
    assert [name for name in found.measures if name in idle] == []
    assert set(found.measures) == set(made.measures) - set(idle)
    seen = overview(found)
    assert "mem max [%]" not in seen.heads
    assert seen.note[-1] == "no measure of memory: no container uses or requests any"
    assert "no measure of" not in " ".join(overview(made).note)


def test_who_leaves_the_fewest_waiting_stands_first() -> None:
    """Other measures are better for less load: it stood first who left most containers waiting."""
    made = _made(ORDERS)
    assert made.repeats is not None
    left = {"packs": 40, "spreads": 3, "best": 90}

    def waiting(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pending=pl.col("policy").replace_strict(left))

    found = Results(made.manifest, waiting(made.summary), waiting(made.repeats))
    seen = overview(found)
    assert [row[0] for row in seen.rows] == ["spreads *", "packs *", "best *"]
    # what sorts the rows is seen
    at = seen.heads.index("pending")
    assert [row[at] for row in seen.rows] == ["3", "40", "90"]
    assert len(seen.heads) == 6
    assert "who leaves the fewest containers waiting first" in seen.note
    assert not any("waiting first" in said for said in overview(made).note)


def _one_that_leaves_some_waiting(pending: tuple[int, ...]) -> Results:
    columns = {"nodes_used_mean": 2.0, "cpu_max_fraction": 0.5, "memory_max_fraction": 0.5}
    rows = [
        {
            "repeat": at,
            "seed": at,
            "policy": "a",
            **columns,
            "pending": many,
            "overloaded_node_steps": 0,
        }
        for at, many in enumerate(pending)
    ]
    repeats = pl.DataFrame(rows)
    load = {"nodes": 10, "steps": 100, "containers": 20}
    manifest = {"repeats_cover": ["order of arrival"], "policies": [], "workload": load}
    return Results(manifest, repeats.filter(repeat=0).drop("repeat", "seed"), repeats)


def test_of_a_policy_alone_nothing_is_the_same_under_every_policy() -> None:
    """It said so of 2.333 containers left without a node, and explained a sign that nothing had."""
    seen = overview(_one_that_leaves_some_waiting((2, 2, 3, 2, 2, 3)))
    said = " ".join(seen.note)
    assert "the same under every policy" not in said
    assert "two policies" not in said
    assert any("±" in cell for cell in seen.rows[0]) == ("±" in said)
    assert seen.heads[1] == "pending"


def test_where_no_order_differs_no_interval_is_explained() -> None:
    seen = overview(_one_that_leaves_some_waiting((3,) * 6))
    assert not any("±" in cell for row in seen.rows for cell in row)
    assert "means over 6 repeats; what differs between them: order of arrival" in seen.note
    assert not any("±" in one for one in seen.note)
