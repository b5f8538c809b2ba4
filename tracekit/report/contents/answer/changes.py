"""What a policy would change: the few measures that decide, before and after."""

from __future__ import annotations

from tracekit.replay.measures import Measure, small
from tracekit.replay.runs.amounts import difference_text, standing_text, way
from tracekit.replay.runs.decision import Decision
from tracekit.replay.runs.standings import difference
from tracekit.report.contents.first_screen import Change
from tracekit.report.data import Data
from tracekit.report.words import count, few

#: What a reader wants to know of every answer, and of which 0 is no news.
_FIRST = (
    "overloaded_node_steps", "pending", "nodes_used_mean", "cost_per_hour", "cpu_max_fraction",
    "memory_max_fraction", "moves",
)  # fmt: skip
_ALWAYS = ("overloaded_node_steps", "nodes_used_mean")
#: So many rows are read at a glance.
_MOST = 6


def changes(data: Data, told: Decision, policy: str, before: str) -> list[Change]:
    """The few measures that decide, before and after."""
    if not before or not policy or data.results is None:
        return []
    rows = [_change(data, one, policy, before) for one in _deciding(data, told, policy, before)]
    return [row for row in rows if row is not None]


def _deciding(data: Data, told: Decision, policy: str, before: str) -> list[Measure]:
    """What decided, overload, nodes, cost and the fullest node; what is 0 for both is left out."""
    known = _answering(data)
    harms = [one.name for one in known.values() if _harms(data, one, policy, before)]
    wanted = dict.fromkeys((told.criterion, *_ALWAYS, *harms, *_FIRST))
    found = [known[name] for name in wanted if name in known]
    there = [one for one in found if one.name in _ALWAYS or _any(data, one, policy, before)]
    return there[: max(_MOST, len(harms) + len(_ALWAYS) + 1)]


def _harms(data: Data, measure: Measure, policy: str, before: str) -> bool:
    """Whether a measure is worse, at least on average: that is never left out."""
    if data.results is None:
        return False
    apart = difference(data.results, policy, before, measure.name)
    return way(measure, apart, average=True) == "worse"


def _answering(data: Data) -> dict[str, Measure]:
    known = data.results.measures if data.results else {}
    return {name: one for name, one in known.items() if one.group == "answer"}


def _any(data: Data, measure: Measure, *policies: str) -> bool:
    rows = (data.standings(measure.name).row(policy) for policy in policies)
    return any(row is not None and row.mean for row in rows)


def beyond(data: Data, told: Decision, policy: str, before: str) -> str:
    """Of the measures that the table leaves out, those that differ beyond chance."""
    if not before or not policy or data.results is None:
        return ""
    known = _answering(data)
    shown = {one.name for one in _deciding(data, told, policy, before)}
    rest = [one for name, one in known.items() if name not in shown]
    if not rest:
        return ""
    found = []
    for one in rest:
        apart = difference(data.results, policy, before, one.name)
        said = way(one, apart)
        if said:
            found.append(f"{small(one.title)} ({said}: {difference_text(one, apart)})")
    others = f"Of {count(len(rest), 'other measure')}"
    if not found:
        return f"{others} none differs beyond chance."
    verb = "differs" if len(found) == 1 else "differ"
    return f"{others} {len(found)} {verb} beyond chance: {few(found)}."


def _change(data: Data, measure: Measure, policy: str, before: str) -> Change | None:
    found = data.standings(measure.name)
    one, other = found.row(policy), found.row(before)
    if one is None or other is None or data.results is None:
        return None
    apart = difference(data.results, policy, before, measure.name)
    return Change(
        title=f"{measure.title} per hour" if measure.unit == "1/h" else measure.title,
        meaning=measure.meaning,
        before=standing_text(measure, other),
        after=standing_text(measure, one),
        difference=difference_text(measure, apart),
        way=way(measure, apart, average=True),
    )
