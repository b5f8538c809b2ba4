"""What is told of nodes where containers never leave, and where one order is all there is."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.answer.filled import filled
from tracekit.replay.runs.results import Results

ROWS = pl.DataFrame(
    {
        "policy": ["first_fit", "best_fit", "tbesk"],
        "pending": [0.0, 0.0, 1.0],
        "nodes_used_mean": [126.0, 156.0, 3.0],
        "nodes_used_max": [1077.0, 1163.0, 8.0],
        "nodes_used_end": [1077.0, 1163.0, 8.0],
    }
)


def told(about: dict[str, object], **load: object) -> str:
    return filled(Results({"workload": {"nodes": 1523, **load}, **about}, ROWS))


@pytest.mark.parametrize(
    "load",
    [{"quantities": {"departures": "absent"}}, {"assumptions": {"departures": "none"}}],
    ids=["absent", "set aside"],
)
def test_nodes_that_fill_up_are_told_as_they_are_at_the_end(load: dict[str, object]) -> None:
    """A mean over 149 days of filling said 156 where 1,163 are needed."""
    said = told({}, **load)
    assert said.startswith(
        "Nodes that hold a container at the end, of 1,523: 1,077 under first_fit, 1,163 under"
        " best_fit. No container leaves here"
    )
    assert ("departures=none" in said) == ("assumptions" in load)


def test_where_all_is_there_from_the_beginning_no_mean_is_called_less() -> None:
    full = ROWS.with_columns(nodes_used_mean=pl.col("nodes_used_end"))
    load = {"nodes": 1523, "quantities": {"departures": "absent"}}
    assert filled(Results({"workload": load}, full)) == (
        "Nodes that hold a container at the end, of 1,523: 1,077 under first_fit, 1,163 under"
        " best_fit."
    )


@pytest.mark.parametrize(
    ("means", "told_less"),
    [
        ((1076.9, 1162.0, 3.0), False),  # by less than counts
        ((1077.0, 1163.0, 3.0), False),  # of one alone that is not spoken of
        ((1077.0, 1100.0, 8.0), True),
    ],
)
def test_a_mean_is_called_less_where_that_counts_of_those_that_are_named(
    means: tuple[float, float, float], told_less: bool
) -> None:
    """One barred policy of 33 used 76.77 nodes of 77, and all that were named 130 of 130."""
    rows = ROWS.with_columns(nodes_used_mean=pl.Series(means))
    load = {"nodes": 1523, "quantities": {"departures": "absent"}}
    assert ("are fewer" in filled(Results({"workload": load}, rows))) is told_less


def test_one_recorded_order_tells_its_counts() -> None:
    assert told({"repeats_none": "every order is nearly the same"}) == (
        "In the one order that there is, at most so many of 1,523 nodes hold containers in any"
        " step:"
        " 1,077 under first_fit, 1,163 under best_fit; left without a node: tbesk 1."
    )


def test_elsewhere_nothing_is_told() -> None:
    assert told({}, quantities={"departures": "recorded"}) == ""


def test_policies_that_place_alike_are_told_once() -> None:
    """It said "5 under 1*best_fit, 5 under 2*best_fit, 5 under best_fit; the most is 5 under"."""
    names = ["1*a", "2*a", "a", "0.5*a+0.5*a"]
    rows = pl.DataFrame({"policy": [*names, "b"], "nodes_used_end": [5.0] * 4 + [6.0]})
    load = {"nodes": 10, "quantities": {"departures": "absent"}}
    manifest = {
        "workload": load,
        "policies": [
            {"policy": one, "placements": "b" if one == "b" else "a"} for one in rows["policy"]
        ],
    }
    start = "Nodes that hold a container at the end, of 10: "
    assert filled(Results(manifest, rows)) == (
        f"{start}5 under 1*a and 3 others that place alike, 6 under b."
    )
    apart = {**manifest, "policies": [{"policy": one, "placements": one} for one in rows["policy"]]}
    four = rows.filter(pl.col("policy") != "b")
    assert filled(Results(apart, four)) == f"{start}5 under each policy."


def test_averages_have_one_decimal_and_the_most_stands_apart() -> None:
    """It said 3.333 nodes, and "at most 130, under tssa" after a list of three."""
    rows = pl.DataFrame(
        {
            "policy": [name for name in ("a", "b", "c", "d") for _ in range(3)],
            "repeat": [0, 1, 2] * 4,
            "nodes_used_end": [3.0, 3.0, 4.0, *[5.0] * 3, *[6.0] * 3, *[9.0] * 3],
        }
    )
    load = {"nodes": 10, "quantities": {"departures": "absent"}}
    found = Results({"workload": load}, rows.filter(repeat=0).drop("repeat"), rows)
    assert filled(found).startswith(
        "Nodes that hold a container at the end, of 10: 3.3 on average under a, 5 under b, 6 under"
        " c; the most is 9 under d."
    )
