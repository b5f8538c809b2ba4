"""What the first screen says: what was asked, the answer, how sure it is, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from tracekit.replay.measures import RESOURCES, Measure, all_measures, find_measure, words_of
from tracekit.replay.runs.decision import Decision
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.may_answer import CONDITIONS
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.standings import Difference, difference
from tracekit.replay.runs.student import FEWEST
from tracekit.replay.runs.windows import ORDER
from tracekit.report.amounts import difference_text, standing_text, way
from tracekit.report.contents import fewest, nodes_needed, quantities, sizing, vary
from tracekit.report.contents.first_screen import Answer, Change
from tracekit.report.data import Data
from tracekit.report.headline import named
from tracekit.report.words import count, listed, percent, spaced

#: So many names are told, others counted.
_NAMED = 3
#: So many that get worse.
_PRICES = 2
#: What a reader wants to know of every answer, and of which 0 is no news.
_FIRST = (
    "overloaded_node_steps", "pending", "nodes_used_mean", "cost_per_hour", "cpu_max_fraction",
    "memory_max_fraction", "moves",
)  # fmt: skip
_ALWAYS = ("overloaded_node_steps", "nodes_used_mean")
#: So many rows are read at a glance.
_MOST = 6
#: Measures whose titles alone say little: their names end so.
_UNTOLD = ("_stranded_share", "_debris_full_fraction")
#: Of a measure that nothing happened to count.
_NO_NEWS = "it is 0 under every policy"
#: What the line above the answer says of every resource.
_MOVED = "can be moved by any policy"
#: Enough orders of arrival to tell small differences.
_ORDERS = 20


def answer(data: Data) -> Answer:
    """What the data answer: a run before a study, a study before a store."""
    if data.decision is not None:
        return _of_run(data, data.decision)
    if fewest.STUDY in data.studies:
        return fewest.answer(data)
    if data.sizing is not None:
        return _of_sizing(data)
    if vary.STUDY in data.studies:
        return vary.answer(data)
    if data.studies:
        return _of_studies(data)
    return _of_store(data)


def _of_run(data: Data, told: Decision) -> Answer:
    shown = next(iter(told.chosen or named(data)), "")
    before = OBSERVED if OBSERVED in _replayed(data) else told.simple
    return Answer(
        asked=_asked(data, told),
        movable=_movable((data.run or {})["workload"]),
        sentence=_sentence(data, told),
        meaning=_meaning(told),
        also=nodes_needed.said(data, told),
        warnings=_warnings(data, told),
        told=nodes_needed.held(data),
        changes=_changes(data, told, shown, before),
        beyond=_beyond(data, told, shown, before),
        before="production" if before == OBSERVED else before,
        after=shown,
        change="What it would change" if told.chosen else f"What {shown} would change",
        sure=_sure(data, told),
        rests=_rests(data),
        next=_next(data, told),
    )


def _asked(data: Data, told: Decision) -> str:
    load = (data.run or {})["workload"]
    policies = len((data.run or {})["policies"]) - (OBSERVED in _replayed(data))
    return (
        f"{told.question} {count(load['containers'], 'container')} on"
        f" {count(load['nodes'], 'node')} were placed anew by {_policies(policies)}"
        f"{', beside where production ran them' if OBSERVED in _replayed(data) else ''}."
    )


def _movable(load: Mapping[str, Any]) -> str:
    """How much of the load a policy can move, and what becomes of the rest."""
    known = load.get("movable") or {}
    shares = {name: known[name] for name in RESOURCES if known.get(name) is not None}
    if not shares:
        return ""
    told = listed([f"{percent(share)} of the {words_of(name)}" for name, share in shares.items()])
    rest = background(load)
    return spaced(f"A policy can move {told} in use.{f' {rest}' if rest else ''}")


def _policies(number: int) -> str:
    return "1 policy" if number == 1 else f"{number:,}\u00a0policies"


def _replayed(data: Data) -> list[str]:
    return [one["policy"] for one in (data.run or {}).get("policies", [])]


def _meaning(told: Decision) -> str:
    """What the measure of the answer means, where its title does not say it."""
    measure = find_measure(told.criterion)
    if measure is None or not told.chosen or not measure.name.endswith(_UNTOLD):
        return ""
    return f"{measure.title} is {measure.meaning.partition(';')[0]}."


def _sentence(data: Data, told: Decision) -> str:
    """The answer; where nothing can be told it says that, and why."""
    if not told.chosen or not told.criterion:
        return spaced(told.answer)
    first = told.chosen[0]
    row = data.standings(told.criterion).row(first)
    measure = find_measure(told.criterion)
    if row is None or measure is None:
        return spaced(told.answer)
    always = f" in each of {row.orders} orders of arrival" if row.reach == 0 else ""
    value = f"{standing_text(measure, row)}{always}"
    others = _others(data, told, measure)
    production = data.standings(told.criterion).row(OBSERVED)
    against = next(
        (one.against_production for one in told.measures if one.measure == told.criterion), None
    )
    title = _small(measure.title)
    if production is None or against is None:
        return f"Use {first}: {title} {_verb(title)} {value}.{others}"
    price = _price(told)
    # less overload is worth its price; what else costs something is for the reader to weigh
    trade = price and told.criterion not in CONDITIONS
    advice = f"{first} is a trade" if trade else f"Use {first}"
    if against.apart:
        gained = f"{difference_text(measure, against)} against production{price}"
        return f"{advice}: {title} {_verb(title)} {value}, {gained}.{others}"
    usual = standing_text(measure, production)
    gains = _gains(told)
    if gains:
        return (
            f"{advice}: {listed(gains[:_NAMED])}, while {title} {_verb(title)} no different from"
            f" production's beyond chance ({value}; {usual} in production){price}.{others}"
        )
    do = "does" if len(told.chosen) == 1 else "do"
    return (
        f"Nothing better than production was found, beyond chance. {measure.title}: {usual} in"
        f" production, {standing_text(measure, row)}{always} under {first}."
        f" {_few(told.chosen)} {do} as well as production."
    )


def _others(data: Data, told: Decision, measure: Measure) -> str:
    """Those that the orders do not tell from the first, each with its own number; or nothing."""
    rows = data.standings(told.criterion)
    found = [(name, rows.row(name)) for name in told.chosen[1:]]
    named = [f"{name} ({standing_text(measure, row)})" for name, row in found if row]
    return f" Too few orders tell it from {_few(named)}." if named else ""


def _price(told: Decision) -> str:
    """By what the first of the chosen is worse than production, and how much; or nothing."""
    found = _beside_production(told, "worse")
    worse = [f"{_small(one.title)} {difference_text(one, by)}" for one, by in found[:_PRICES]]
    more = f" and {len(found) - _PRICES} more" if len(found) > _PRICES else ""
    return f"; worse: {', '.join(worse)}{more}" if worse else ""


def _gains(told: Decision) -> list[str]:
    """By which other measures the first of the chosen is better than production, and how much."""
    return [
        f"{_small(measure.title)} changes by {difference_text(measure, against)}"
        for measure, against in _beside_production(told, "better")
    ]


def _beside_production(told: Decision, which: str) -> list[tuple[Measure, Difference]]:
    """Other measures by which the first of the chosen is better, or worse, beyond chance."""
    found = []
    for one in told.measures:
        measure, against = find_measure(one.measure), one.against_production
        if measure and against and one.measure != told.criterion and way(measure, against) == which:
            found.append((measure, against))
    return found


def _verb(title: str) -> str:
    """Whether a measure's title is of one thing or of many."""
    words = title.partition(",")[0].split()
    return "are" if words[0].endswith("s") or words[-1].endswith("s") else "is"


def _small(title: str) -> str:
    """A title inside a sentence: CPU stays CPU."""
    plain = title.split(maxsplit=1)[0][1:].islower()
    return f"{title[:1].lower()}{title[1:]}" if plain else title


def _few(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return listed(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _warnings(data: Data, told: Decision) -> list[str]:
    said = []
    if data.made_up:
        said.append(
            "This trace is made up (tracekit synth). What it shows was put into it: it says"
            " nothing about any real cluster."
        )
    names = [name for one in told.left_out for name in one.names if name != OBSERVED]
    if names:
        said.append(
            f"Not to be chosen: {_few(names)}. {spaced(told.rule)} The policies page has the"
            " reason for each."
        )
    return said


def _changes(data: Data, told: Decision, policy: str, before: str) -> list[Change]:
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
    """Whether a measure is worse beyond chance: that is never left out."""
    if data.results is None:
        return False
    return way(measure, difference(data.results, policy, before, measure.name)) == "worse"


def _answering(data: Data) -> dict[str, Measure]:
    known = data.results.measures if data.results else {}
    return {name: one for name, one in known.items() if one.group == "answer"}


def _any(data: Data, measure: Measure, *policies: str) -> bool:
    rows = (data.standings(measure.name).row(policy) for policy in policies)
    return any(row is not None and row.mean for row in rows)


def _beyond(data: Data, told: Decision, policy: str, before: str) -> str:
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
            found.append(f"{_small(one.title)} ({said}: {difference_text(one, apart)})")
    others = f"Of {count(len(rest), 'other measure')}"
    if not found:
        return f"{others} none differs beyond chance."
    verb = "differs" if len(found) == 1 else "differ"
    return f"{others} {len(found)} {verb} beyond chance: {_few(found)}."


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
        way=way(measure, apart),
    )


def _sure(data: Data, told: Decision) -> str:
    """What the intervals cover, and what is not told."""
    if told.orders < FEWEST:
        met = count(told.orders, "order")
        return f"Not at all: with {met} of arrival whatever differs may be chance."
    covers = [f"the {one}" for one in told.covers or (ORDER,)]
    said = (
        f"Intervals are 95 %, over {count(told.orders, 'order')} of arrival, corrected for the"
        f" number of comparisons. They cover {listed(covers)}; they do not cover what was"
        " assumed."
    )
    return spaced(f"{said}{_not_chosen(data, told)} {' '.join(_clauses(told))}".strip())


def _not_chosen(data: Data, told: Decision) -> str:
    """Why the other ways to place are not chosen, how many by what; a sentence, or empty."""
    measure = find_measure(told.criterion)
    if not told.chosen or measure is None or data.results is None:
        return ""
    barred = {name for one in told.left_out for name in one.names}
    rows = [
        row
        for row in data.standings(told.criterion).rows
        if OBSERVED not in row.names and not set(row.names) & set(told.chosen)
    ]
    if not rows:
        return ""
    held = [row for row in rows if row.names[0] not in barred]
    judged = [row for row in held if row.orders >= FEWEST]
    worse = [
        way(measure, difference(data.results, row.names[0], told.chosen[0], measure.name))
        == "worse"
        for row in judged
    ]
    reasons = {
        f"worse beyond chance by {_small(measure.title)}": sum(worse),
        "worse by another measure": len(judged) - sum(worse),
        "barred, as they overload nodes or leave containers waiting, or may": len(rows) - len(held),
        "met by too few orders of arrival to be judged": len(held) - len(judged),
    }
    said = [f"{many} {reason}" for reason, many in reasons.items() if many]
    return f" Of {len(rows)} other ways to place: {'; '.join(said)}."


def _clauses(told: Decision) -> list[str]:
    """What is not told, and not news: of measures together, of other things one by one."""
    titles = {one.title for one in all_measures().values()}
    silent = [text for text in told.not_told if text.partition(":")[0] in titles]
    names = [_small(text.partition(":")[0]) for text in silent if _NO_NEWS not in text]
    rest = [
        text
        for text in told.not_told
        if text not in silent and _tail(text) not in told.answer and _MOVED not in text
    ]
    if not names:
        return rest
    verb = "does" if len(names) == 1 else "do"
    return [
        f"{listed(names)[:1].upper()}{listed(names)[1:]} {verb} not tell policies apart.",
        *rest,
    ]


def _tail(text: str) -> str:
    """A sentence as it stands within another."""
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def _rests(data: Data) -> list[tuple[str, str]]:
    load = (data.run or {}).get("workload", {})
    return quantities.rests(load.get("quantities", {}), made_up=data.made_up)


def _next(data: Data, told: Decision) -> list[tuple[str, str]]:
    if told.orders < FEWEST:
        names = " ".join(f"--policy {quote(name)}" for name in _ours(data))
        return [
            (
                "Let the policies meet more orders of arrival:",
                (
                    f"tracekit replay {data.paths.store} {names} --repeat {_ORDERS}"
                    f" --out {data.paths.beside('more-orders')}"
                ),
            )
        ]
    if not told.chosen:
        return [
            (
                "Replay policies that move containers later, too:",
                (
                    f"tracekit replay {data.paths.store} --policy common --rebalance load_spread"
                    f" --repeat {_ORDERS} --out {data.paths.beside('rebalanced')}"
                ),
            ),
            *nodes_needed.following(data, told, next(iter(_ours(data)), "")),
        ]
    first = told.chosen[0]
    found = nodes_needed.following(data, told, first)
    if "assumptions" not in data.studies and "assumed" in dict(_known(data)).values():
        rival = told.simple or next((n for n in _replayed(data) if n not in {first, OBSERVED}), "")
        found.append(
            (
                "Whether the answer hangs on what was assumed:",
                (
                    f"tracekit vary {data.paths.store} --policy {quote(first)}"
                    f" --policy {quote(rival)} --measure {told.criterion}"
                    f" --out {data.paths.study('assumptions')}"
                ),
            )
        )
    return found


def _ours(data: Data) -> list[str]:
    """The policies, the usual one first."""
    names = [name for name in _replayed(data) if name != OBSERVED]
    return sorted(names, key=lambda name: name != "default_scheduler")


def _known(data: Data) -> list[tuple[str, str]]:
    return list((data.run or {}).get("workload", {}).get("quantities", {}).items())


def _of_sizing(data: Data) -> Answer:
    verdict = sizing.verdict(data)
    return Answer(
        asked="Does the learning agent size containers better than simple rules?",
        sentence=verdict[0],
        warnings=verdict[1:],
        sure=sizing.compared(data),
    )


def _of_studies(data: Data) -> Answer:
    names = [name.replace("_", " ") for name in data.studies]
    return Answer(
        asked="", sentence=f"This report shows {listed(names)}; its pages have the answers."
    )


def _of_store(data: Data) -> Answer:
    rows = sum(one["rows"] for one in (data.info or {"tables": {}})["tables"].values())
    known = (data.info or {}).get("quantities", {})
    rests = [
        (
            quantities.word(data, kind).capitalize(),
            ", ".join(name for name, how in known.items() if how == kind),
        )
        for kind in ("recorded", "inferred", "absent")
        if kind in known.values()
    ]
    made_up = ["This trace is made up (tracekit synth)."] if data.made_up else []
    if not rows:
        return Answer(
            asked="",
            sentence="The store holds no rows yet, so there is nothing to say.",
            next=[("Take trace files in:", f"tracekit ingest SRC {data.paths.store}")],
        )
    return Answer(
        asked="What does this trace show? No policy has been replayed on it yet.",
        sentence=f"The store holds {count(rows, 'row')}; what stands out in them is below.",
        warnings=made_up,
        rests=rests,
        next=[
            (
                "Place its containers anew, to see what a policy would change:",
                (
                    f"tracekit replay {data.paths.store} --policy common --repeat {_ORDERS}"
                    f" --out {data.paths.beside('replay')}"
                ),
            )
        ],
    )
