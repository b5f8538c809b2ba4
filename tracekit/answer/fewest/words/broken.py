"""Which limit breaks, by the measure's title and the value it comes to."""

import re
from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.frames import BREAKS_WITH_ALL, FAILS_HOW
from tracekit.answer.fewest.search.broken_limit import number
from tracekit.replay.measures import find_measure, small, title_of

#: A limit on one measure alone, and what its sign allows.
_PLAIN = re.compile(r"(?P<measure>\w+) (?P<how><=|<|>=|>|==) (?P<value>[0-9.e+-]+)")
#: No more than a number, or than the same policy on all nodes.
_AS_WITH_ALL = re.compile(r"(.+ )max\(([0-9.e+-]+), base( \+ (?P<more>[0-9.e-]+))?\)")
#: No more, or hardly more, than the same policy on all nodes.
_SAME = re.compile(r"(?P<measure>\w+) <= base( \+ (?P<more>[0-9.]+))?")
_ALLOWS = {"<=": "at most", "<": "below", ">=": "at least", ">": "above", "==": "of"}


def limit_words(text: str) -> str:
    """A limit with the title of its measure and the bound in words, as far as its form is plain."""
    as_all = _AS_WITH_ALL.fullmatch(text)
    if as_all is not None:
        most = limit_words(f"{as_all[1]}{as_all[2]}")
        points = f"{100 * float(as_all['more']):g} points above " if as_all["more"] else ""
        return f"{most}, or {points}what it is with all nodes"
    same = _SAME.fullmatch(text)
    if same is not None:
        more = f"at most {float(same['more']):,.0f} more" if same["more"] else "no more"
        return f"{title_of(same['measure'])} {more} than with all nodes"
    found = _PLAIN.fullmatch(text)
    measure = find_measure(found["measure"]) if found else None
    if found is None or measure is None:
        return text
    bound, title = number(measure.name, float(found["value"])), small(measure.title)
    return f"{title.removesuffix(' at most')} {_ALLOWS[found['how']]} {bound}"


def comes_to(row: Mapping[str, Any]) -> str:
    """What breaks and how far: ``CPU use, 99th percentile would come to 104 %, above 100 %``.

    Parameters
    ----------
    row : mapping
        A row of the study's ``policies``.
    """
    name = row["fails_measure"]
    # a study of an earlier version does not say what it may be
    how = row.get(FAILS_HOW) or number(name, row["fails_value"])
    return f"{title_of(name)} would come to {how}"


def breaks_with_all(row: Mapping[str, Any]) -> str:
    """That a limit breaks on all nodes and holds on these, a sentence; empty where none does."""
    name, value = (row.get(column) for column in BREAKS_WITH_ALL)
    if name is None:
        return ""
    came = f"{title_of(name)} comes to {number(name, value)}"
    return f" On all {row['of']:,} it would not hold ({came}): those that go must be closed to it."


def why_none(row: Mapping[str, Any]) -> str:
    """Why not even all nodes are enough for a policy, a clause."""
    if row.get("fails_measure") is None:
        return str(row["problem"])
    return f"{comes_to(row)} on all {row['of']:,}"
