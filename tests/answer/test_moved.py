"""What a rebalancer buys: beside the same policy alone, beyond chance."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.answer.moved import bought, moved
from tracekit.replay.runs.results import Results

#: Noise of six orders.
NOISE = [0.0, 0.2, -0.1, 0.1, -0.2, 0.0]


def made(orders: int, **alone_and_with: tuple[float, float]) -> Results:
    """A run of policy p alone, and of p with rebalancer r, with these means of measures."""
    rows = [
        {"policy": name, "repeat": at, **{
            measure: values[column] + (NOISE[at - column] if values[column] else 0.0)
            for measure, values in alone_and_with.items()
        }}
        for column, name in enumerate(("p", "p+r"))
        for at in range(orders)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    about = {"workload": {"containers": 100, "nodes": 10, "steps": 10}, "policies": []}
    return Results(about, frame.filter(repeat=0).drop("repeat"), frame)


def said(found: Results) -> list[str]:
    return [one.replace("\N{NO-BREAK SPACE}", " ") for one in bought(found)]


def test_moves_of_one_order_are_not_taken_for_those_of_all() -> None:
    summary = pl.DataFrame({"policy": ["p+r"], "moves": [308], "move_downtime_ms": [0]})
    assert moved(summary) == ["p+r made 308 moves"]
    assert moved(summary, orders=6) == ["p+r made 308 moves in the first order of arrival"]


def test_what_gets_better_and_what_gets_worse_is_told_with_its_price_in_moves() -> None:
    found = made(6, pending=(8, 0), overloaded_node_steps=(0, 30), moves=(0, 400))
    (told,) = said(found)
    assert told.startswith("p+r against p alone, for 400 moves on average over 6 orders of")
    assert "better by containers left without a node \N{MINUS SIGN}8" in told
    assert "; worse by overloaded node-steps +30" in told


def test_what_is_within_chance_is_not_told() -> None:
    (told,) = said(made(6, overloaded_node_steps=(30, 30.05), moves=(0, 400)))
    assert told.endswith(
        "over 6 orders of arrival: no measure that may answer differs beyond chance"
    )


@pytest.mark.parametrize("orders", [1, 5])
def test_too_few_orders_tell_nothing(orders: int) -> None:
    assert said(made(orders, pending=(8, 0), moves=(0, 400))) == []
