"""Which limit breaks, by the measure's title and the value it comes to."""

from collections.abc import Mapping
from typing import Any

from tracekit.replay.measures import find_measure, small
from tracekit.replay.studies.shrink.search.limits import plain
from tracekit.units import percent


def number(measure: str, value: float | None) -> str:
    """A value of a measure: a share in percent."""
    if value is None:
        return "unknown"
    known = find_measure(measure)
    return percent(value) if known is not None and known.share else plain(value)


def comes_to(row: Mapping[str, Any]) -> str:
    """What breaks and how large it is: ``CPU use, 99th percentile would come to 104 %``.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    """
    name = row["fails_measure"]
    measure = find_measure(name)
    title = name if measure is None else small(measure.title)
    return f"{title} would come to {number(name, row['fails_value'])}"


def why_none(row: Mapping[str, Any]) -> str:
    """Why not even all nodes are enough for a policy, a clause."""
    if row.get("fails_measure") is None:
        return str(row["problem"])
    return f"{comes_to(row)} on all {row['of']:,}"
