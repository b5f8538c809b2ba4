"""What measures of moves have in common: each move costs its container a pause whenever it is."""

from __future__ import annotations

from typing import Any

from tracekit.replay.measures import Measure, Step


def of_moves(*, column: str, **said: Any) -> Measure:
    """A count of moves over the whole run, the filling included, unless ``said`` otherwise."""
    about = {"during": "whole", "group": "answer", **said}
    return Measure(
        unit="moves",
        better="low",
        step=Step(column=column, whole=True),
        over_steps="sum",
        **about,
    )
