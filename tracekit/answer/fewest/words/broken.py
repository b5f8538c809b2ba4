"""Which limit breaks, by the measure's title and the value it comes to."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.frames import BREAKS_WITH_ALL
from tracekit.replay.measures import find_measure, title_of
from tracekit.units import percent


def number(measure: str, value: float | None) -> str:
    """A value of a measure: a share in percent, a count in all its digits."""
    if value is None:
        return "unknown"
    known = find_measure(measure)
    if known is not None and known.share:
        return percent(value, 1)
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def comes_to(row: Mapping[str, Any]) -> str:
    """What breaks and how far: ``CPU use, 99th percentile would come to 104 %, 100 % allowed``.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    """
    return _comes_to(row, "fails")


def _comes_to(row: Mapping[str, Any], which: str) -> str:
    name, value, most = (row.get(f"{which}_{part}") for part in ("measure", "value", "allowed"))
    allowed = "" if most is None else f", {number(str(name), most)} allowed"
    return f"{title_of(str(name))} would come to {number(str(name), value)}{allowed}"


def breaks_with_all(row: Mapping[str, Any]) -> str:
    """That a limit breaks on all nodes and holds on these, a sentence; empty where none does."""
    if row.get(BREAKS_WITH_ALL) is None:
        return ""
    came = _comes_to(row, "breaks")
    return f" On all {row['of']:,} it would not hold ({came}): those that go must be closed to it."


def why_none(row: Mapping[str, Any]) -> str:
    """Why not even all nodes are enough for a policy, a clause."""
    if row.get(BREAKS_WITH_ALL) is None:
        return str(row["problem"])
    return f"{_comes_to(row, 'breaks')} on all {row['of']:,}"
