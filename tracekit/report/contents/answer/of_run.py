"""What the first screen of a run says: its question, its answer, how sure, and what is next."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.answer.advice import (
    NEAREST,
    alike,
    keeps_production,
    meaning,
    sentence,
    without_advice,
)
from tracekit.answer.amounts import (
    difference_text,
    texts_apart,
    way,
)
from tracekit.answer.decision import Decision, runner_up
from tracekit.answer.filled import filled
from tracekit.answer.left_waiting import waits_in_others, waits_too_much
from tracekit.answer.preferred import USUAL
from tracekit.answer.prices import nodes_told
from tracekit.answer.standings import difference
from tracekit.answer.who_holds import who_holds
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import COST_PER_HOUR, FIRST, NODES, OVERLOAD, Measure, small
from tracekit.replay.measures.p99_fraction import is_the_fullest
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.stands_in import stands_in
from tracekit.replay.runs.waiting import waiting_told
from tracekit.report.contents import beside, nodes_needed, quantities, requests_to_change, vary
from tracekit.report.contents.answer.asked import asked, movable
from tracekit.report.contents.answer.cheapest import cheapest
from tracekit.report.contents.answer.next_steps import followed, following, in_turn
from tracekit.report.contents.answer.on_fewer import (
    column,
    nothing_worse,
    on_fewer,
    worse_there,
)
from tracekit.report.contents.answer.sure import sure, wider
from tracekit.report.contents.first_screen import Answer, Change
from tracekit.report.data import Data
from tracekit.report.measures import Beside, named
from tracekit.report.policies import label, replayed
from tracekit.store.manifest import MADE_UP
from tracekit.words import count, listed, spaced

#: Shown where they are 0 too.
_ALWAYS = (OVERLOAD, NODES)
#: So many rows are read at a glance.
_MOST = 6
#: So many measures that speak against the answer are named below them.
_AGAINST = 3


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
    # a mean over a time in which nodes fill tells little of how many there have to be
    nodes = [] if data.results is None else [nodes_told(data.results)]
    always = tuple(dict.fromkeys((_ALWAYS[0], *nodes, *_ALWAYS)))
    wanted = dict.fromkeys((told.criterion, *always, *harms, *FIRST))
    found = [known[name] for name in wanted if name in known]
    there = [one for one in found if one.name in always or _any(data, one, policy, before)]
    return there[: max(_MOST, len(harms) + len(always) + 1)]


def _harms(data: Data, measure: Measure, policy: str, before: str) -> bool:
    """Whether a measure is worse, at least on average: that is never left out."""
    if data.results is None:
        return False
    apart = difference(data.results, policy, before, measure.name)
    return way(measure, apart, average=True).startswith("worse")


def _answering(data: Data) -> dict[str, Measure]:
    known = data.results.measures if data.results else {}
    ours = "" if data.results is None else nodes_told(data.results)
    return {name: one for name, one in known.items() if one.group == "answer" or name == ours}


def _any(data: Data, measure: Measure, *policies: str) -> bool:
    rows = (data.standings(measure.name).row(policy) for policy in policies)
    return any(row is not None and row.mean for row in rows)


def beyond(data: Data, told: Decision, policy: str, before: str) -> str:
    """By how many measures each of two policies is better, and what speaks against the answer."""
    if not before or not policy or data.results is None or told.orders < FEWEST:
        return ""
    every = beside.sides(data, policy, before)
    shown = {one.name for one in _deciding(data, told, policy, before)}
    said = f"{beside.told(label(policy), label(before), every)}{_paid(every)}."
    found = [row for row in beside.against(every) if row.measure.name not in shown]
    if not found:
        return said
    named = [
        f"{small(row.measure.title)} ({difference_text(row.measure, row.difference)})"
        for row in found[:_AGAINST]
    ]
    more = len(found) - _AGAINST
    named += [count(more, "more measure")] if more > 0 else []
    also = "also speaks" if len(found) == 1 else "also speak"
    return f"{said} Against {label(policy)} {also}: {listed(named)}."


def _paid(every: Sequence[Beside]) -> str:
    """Measures of what people pay that differ, though neither end is better; a clause."""
    apart = [
        f"{small(row.measure.title)} {difference_text(row.measure, row.difference)}"
        for row in every
        if row.measure.name in (NODES, COST_PER_HOUR)
        and row.difference is not None
        and row.difference.apart
    ]
    are = "are among these: they count" if len(apart) > 1 else "is among these: it counts"
    return f" ({listed(apart)} {are} where nodes can be given back)" if apart else ""


def _change(data: Data, measure: Measure, policy: str, before: str) -> Change | None:
    found = data.standings(measure.name)
    one, other = found.row(policy), found.row(before)
    if one is None or other is None or data.results is None:
        return None
    apart = difference(data.results, policy, before, measure.name)
    said = way(measure, apart, average=True)
    before_text, after_text = texts_apart(measure, other, one)
    # a policy that leaves more containers waiting than it may has less load to carry
    fewer = waits_too_much(data.results, policy)
    return Change(
        title=measure.title,
        meaning=measure.meaning,
        before=before_text,
        after=after_text,
        difference=difference_text(measure, apart),
        way="" if fewer and said == "better" else said,
    )


def of_run(data: Data, told: Decision) -> Answer:
    """The answer of a run that lets one decide something, or says why it does not."""
    found = data.results
    if found is None:
        raise LookupError(told.answer)
    shown = next(iter([*named(data), *in_turn(data)]), "")
    before = OBSERVED if OBSERVED in replayed(data) else runner_up(found, told)
    load = (data.run or {})["workload"]
    rows = changes(data, told, shown, before)
    asked_of = [one for one in _deciding(data, told, shown, before) if rows]
    few = on_fewer(data, shown, asked_of) if before == OBSERVED else None
    better = nothing_worse(data, told, asked_of, few)
    first, second = _led(data, told, better, worse_there(data, asked_of, few))
    return Answer(
        asked=asked(data, told),
        movable=movable(load),
        sentence=first,
        stands_in=_stands_in(load),
        meaning=meaning(told) or _why_not(told, shown),
        also=second,
        warnings=_warnings(data),
        barred=_barred(found, told),
        rule=spaced(told.rule),
        told=[
            *followed(data, told),
            *nodes_needed.held(data),
            *_waits(data, told),
            *_left_out(load),
            *_unexplained(load),
            *filter(None, [spaced(filled(found)), _cheapest(data, told)]),
            *([f"{load['growth']}."] if load.get("growth") else []),
            *filter(None, [is_the_fullest(load["nodes"], [told.rule, *(r.title for r in rows)])]),
        ],
        changes=rows if few is None else column(rows, asked_of, few),
        fewer="" if few is None else few.head,
        beyond=beyond(data, told, shown, before),
        before="production" if before == OBSERVED else before,
        after=shown,
        wider=wider(data, told, before),
        change=f"{_what(found, told, shown)}, on all {count(load['nodes'], 'node')}"
        f"{'' if few is None else f' and on {few.nodes:,}'}",
        sure=" ".join(filter(None, [alike(found, told), sure(data, told)])),
        hangs=vary.hangs(data, told),
        grounds=quantities.grounds(load, made_up=data.made_up),
        next=following(data, told),
        studied=requests_to_change.studied(data),
    )


def _cheapest(data: Data, told: Decision) -> str:
    """Who saves nodes or their cost; empty where a study has asked how many there have to be."""
    if data.results is None or nodes_needed.asked(data):
        return ""
    return cheapest(data.results, told)


def _led(data: Data, told: Decision, better: bool, worse: str) -> tuple[str, str]:
    """What leads, and what follows: the policy, or how few nodes are enough.

    ``better`` is whether nothing is worse on so few; ``worse`` says what is.
    """
    if data.results is None:
        raise LookupError(told.answer)
    policy, nodes = sentence(data.results, told), nodes_needed.said(data, told)
    saved, relief = nodes_needed.lead(data, told)
    rest = without_advice(policy)
    of = (data.run or {})["workload"]["nodes"]
    on_all = f"On all {of:,}: {rest[:1].lower()}{rest[1:]}"
    if better:
        counts = "by enough to count, on average"
        return nodes, f"There nothing of the table is worse than in production {counts}. {on_all}"
    more = " ".join(filter(None, [worse, on_all, relief]))
    return (saved, more) if saved else (policy, nodes)


def _why_not(told: Decision, shown: str) -> str:
    """Why the policy in the table is not recommended; a sentence, or empty."""
    whys = [one.why for one in told.left_out if shown in one.names]
    if not whys:
        return ""
    return f"{shown}, which the next commands ask about, is barred: {whys[0]}."


def _waits(data: Data, told: Decision) -> list[str]:
    """Whom the named policy, and what clusters run already, never placed, and why; sentences."""
    ours = {told.subject, USUAL}
    policies = [one for one in (data.run or {})["policies"] if one["policy"] in ours]
    told_of = [*waiting_told(policies)]
    if data.results is not None:
        told_of += waits_in_others(data.results, [one["policy"] for one in policies])
    return [spaced(f"{one}.") for one in told_of]


def _left_out(load: Mapping[str, Any]) -> list[str]:
    """Which containers of the source nobody replays, and why; sentences."""
    return [spaced(f"{one}.") for one in load.get("left_out", [])]


def _what(found: Results, told: Decision, shown: str) -> str:
    """What the table shows: the answer, the nearest policy, or the one that is asked about next."""
    if told.chosen and not keeps_production(found, told):
        return "What it would change"
    which = f", which {NEAREST}," if shown == told.subject else ""
    not_it = "" if which else " (not recommended)"
    return f"What {shown}{which} would change{not_it}"


def _warnings(data: Data) -> list[str]:
    said = []
    if data.made_up:
        said.append(MADE_UP)
    if unjudged := (data.run or {})["workload"].get("unjudged"):
        said.append(spaced(unjudged))
    return said


def _barred(found: Results, told: Decision) -> str:
    """Who may be chosen and who may not; empty where all may."""
    said = who_holds(found, told)
    return spaced(f"{said} The policies page has the reason for each.") if said else ""


def _stands_in(load: Mapping[str, Any]) -> str:
    """What counts as use where none is recorded, of a run of an earlier version, too."""
    return stands_in(load.get("facts", {}), load["containers"], load.get("quantities"))


def _unexplained(load: Mapping[str, Any]) -> list[str]:
    """Use of nodes that no container explains; a sentence, or none."""
    rest = background(load)
    return [spaced(rest)] if rest else []
