"""The title of the figure of nodes by their mean use."""

from typing import Any

import polars as pl

from tracekit.answer.amounts import SAME
from tracekit.replay.measures import RESOURCES, words_of
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.policies import label
from tracekit.report.words import not_recorded
from tracekit.words import count, listed, percent

#: Above this a node has no room for a burst; below the other it could be emptied.
HOT, IDLE = 0.9, 0.2


def what_of(resource: str) -> str:
    """What of a resource is drawn, in words: requests stand in for use of further ones."""
    return f"{words_of(resource)} {'use' if resource in RESOURCES else 'demand'}"


def lead(frame: pl.DataFrame) -> str:
    """The resource that the title is about: the first that tells the two apart, else the first.

    What binds stands first; where both spread it alike, it answers nothing beside what they do not.
    """
    return str(min(_each_resource(frame), key=_telling)["resource"])


def _each_resource(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """One row of each resource; how two policies differ by it is the same in all of its rows."""
    return frame.unique("resource", keep="first", maintain_order=True).to_dicts()


def _telling(row: dict[str, Any]) -> int:
    """How much a resource says of evenness, the most at 0."""
    return 0 if row["side"] else 2 if row["change"] == SAME else 1


def takeaway(frame: pl.DataFrame) -> str:
    """How evenly load is spread, and how many nodes are nearly full or empty, in sentences."""
    resource = lead(frame)
    first = frame.filter(resource=resource)
    rows = first.group_by("policy", maintain_order=True).first().to_dicts()
    ends = _ends(rows, resource)
    if len(rows) > 1:
        said = [_evenness(rows, what_of(resource)), _others(frame, resource), ends]
    else:
        text = f"{_under(rows[0])}: {ends}"
        said = [f"{text[:1].upper()}{text[1:]}"]
    return " ".join(filter(None, [*said, rows[0]["sparse"], not_recorded(rows[0]["unknown"])]))


def _evenness(rows: list[dict[str, Any]], words: str) -> str:
    """Whether load is more or less even under the second than under the first, beyond chance."""
    one, other = rows[:2]
    begun = f"{words[:1].upper()}{words[1:]} is spread"
    if other["side"] is None:
        before, after = (percent(row["std"]) for row in (one, other))
        return (
            f"So few orders of arrival do not tell whether {words} is spread more evenly"
            f" {_under(other)} than {_under(one)}: the standard deviation of the nodes' means is"
            f" {after}, against {before}."
        )
    by = f"the standard deviation of {words} {_differs(other)}"
    if not other["side"]:
        return f"{begun} alike {_under(other)} and {_under(one)}{_unsure(other)}: {by}."
    how = "more" if other["side"] == "better" else "less"
    return f"{begun} {how} evenly {_under(other)} than {_under(one)}: {by}."


def _others(frame: pl.DataFrame, resource: str) -> str:
    """How much of the further resources differs, where some resource does; else empty."""
    rows = _each_resource(frame)
    if not any(row["side"] for row in rows):
        return ""
    told = [
        f"that of {what_of(row['resource'])} {_differs(row)}{_unsure(row)}"
        for row in rows
        if row["resource"] != resource and row["side"] is not None
    ]
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if told else ""


def _differs(row: dict[str, Any]) -> str:
    return "is the same" if row["change"] == SAME else f"differs by {row['change']}"


def _unsure(row: dict[str, Any]) -> str:
    """Why a difference counts for nothing, a clause; empty where it counts, or there is none."""
    if row["side"] or row["change"] == SAME:
        return ""
    return ", too little to count" if row["apart"] else ", within chance"


def _under(row: dict[str, Any]) -> str:
    return "in production" if row["policy"] == OBSERVED else f"under {label(row['policy'])}"


def _ends(rows: list[dict[str, Any]], resource: str) -> str:
    """How many nodes are nearly full, and nearly empty, a sentence."""
    nodes, words = count(rows[0]["of_nodes"], "node"), words_of(resource)
    hot, idle = _each(rows, "hot"), _each(rows, "idle")
    if resource in RESOURCES:
        return (
            f"{hot} of {nodes} use more than {percent(HOT)} of their {words} on average over time,"
            f" {idle} less than {percent(IDLE)}."
        )
    return (
        f"On {hot} of {nodes} with {words} more than {percent(HOT)} of it is asked for on average"
        f" over time, on {idle} less than {percent(IDLE)}."
    )


def _each(rows: list[dict[str, Any]], end: str) -> str:
    """A count, or that of each where they differ."""
    if len({row[end] for row in rows}) == 1:
        return f"{rows[0][end]:,}"
    return listed([f"{row[end]:,} ({_under(row)})" for row in rows])
