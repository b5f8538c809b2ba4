"""What the first screen says: what was asked, the answer, how sure it is, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.replay.measures import Measure, all_measures, find_measure
from tracekit.replay.runs.decision import Decision
from tracekit.replay.runs.kept_back import kept_back
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.standings import Difference, difference
from tracekit.replay.runs.student import FEWEST
from tracekit.replay.runs.windows import ORDER
from tracekit.report.amounts import difference_text, standing_text, way
from tracekit.report.contents import fewest, sizing
from tracekit.report.contents.first_screen import Answer, Change
from tracekit.report.data import Data
from tracekit.report.headline import named
from tracekit.report.words import count, listed

#: So many names are told, others counted.
_NAMED = 3
_KINDS = ("recorded", "inferred", "assumed")


def answer(data: Data) -> Answer:
    """What the data answer: a run before a study, a study before a store."""
    if data.decision is not None:
        return _of_run(data, data.decision)
    if fewest.STUDY in data.studies:
        return fewest.answer(data)
    if data.sizing is not None:
        return _of_sizing(data)
    if data.studies:
        return _of_studies(data)
    return _of_store(data)


def _of_run(data: Data, told: Decision) -> Answer:
    shown = next(iter(told.chosen or named(data)), "")
    before = OBSERVED if OBSERVED in _replayed(data) else told.simple
    return Answer(
        asked=_asked(data, told),
        sentence=_sentence(data, told),
        warnings=_warnings(data, told),
        changes=_changes(data, shown, before),
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


def _policies(number: int) -> str:
    return "1 policy" if number == 1 else f"{number:,}\u00a0policies"


def _replayed(data: Data) -> list[str]:
    return [one["policy"] for one in (data.run or {}).get("policies", [])]


def _sentence(data: Data, told: Decision) -> str:
    """The answer; where nothing can be told it says that, and why."""
    if not told.chosen or not told.criterion:
        return told.answer
    first = told.chosen[0]
    row = data.standings(told.criterion).row(first)
    measure = find_measure(told.criterion)
    if row is None or measure is None:
        return told.answer
    production = next(
        (one.against_production for one in told.measures if one.measure == told.criterion), None
    )
    do = (
        f"Use {first}"
        if len(told.chosen) == 1
        else f"Use any of {_few(told.chosen, 'or')}, which cannot be told apart"
    )
    always = f" in each of {row.orders} orders of arrival" if row.reach == 0 else ""
    value = f"{_small(measure.title)} is {standing_text(measure, row)}{always}"
    under = f" under {first}" if len(told.chosen) > 1 else ""
    return f"{do}: {value}{under}{_against(measure, production)}."


def _against(measure: Measure, found: Difference | None) -> str:
    if found is None:
        return ""
    if not found.apart:
        return "; where production ran the containers is no worse and no better, beyond chance"
    return f", {difference_text(measure, found)} against production"


def _small(title: str) -> str:
    """A title inside a sentence: CPU stays CPU."""
    plain = title.split(maxsplit=1)[0][1:].islower()
    return f"{title[:1].lower()}{title[1:]}" if plain else title


def _few(names: Sequence[str], joiner: str = "and") -> str:
    if len(names) <= _NAMED:
        return listed(names, joiner)
    return f"{', '.join(names[:_NAMED])} {joiner} {len(names) - _NAMED} more"


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
            f"Not to be chosen, because nodes are overloaded or containers left waiting:"
            f" {_few(names)}. The policies page has the reason for each."
        )
    return [*said, *(f"{one}." for one in kept_back((data.run or {})["workload"]))]


def _changes(data: Data, policy: str, before: str) -> list[Change]:
    """The measures that may answer, before and after."""
    if not before or not policy or data.results is None:
        return []
    answering = [one for one in data.results.measures.values() if one.group == "answer"]
    rows = [_change(data, one, policy, before) for one in answering]
    return [row for row in rows if row is not None]


def _change(data: Data, measure: Measure, policy: str, before: str) -> Change | None:
    found = data.standings(measure.name)
    one, other = found.row(policy), found.row(before)
    if one is None or other is None or data.results is None:
        return None
    apart = difference(data.results, policy, before, measure.name)
    return Change(
        title=measure.title,
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
        said = f"Not at all: the policies met {met} of arrival, and an interval needs {FEWEST}."
    else:
        covers = [f"the {one}" for one in told.covers or (ORDER,)]
        said = (
            f"Intervals are 95 %, over {count(told.orders, 'order')} of arrival, corrected for the"
            f" number of comparisons. They cover {listed(covers)}; they do not cover what was"
            " assumed."
        )
    if told.chosen and told.criterion:
        rows = [row for row in data.standings(told.criterion).rows if OBSERVED not in row.names]
        apart = sum(row.apart_from_best for row in rows)
        said += f" {apart} of {len(rows) - 1} other ways to place are worse beyond chance."
    return f"{said} {' '.join(_clauses(told))}".strip()


def _clauses(told: Decision) -> list[str]:
    """What is not told: of measures together, of other things one by one."""
    titles = {one.title for one in all_measures().values()}
    silent = [text for text in told.not_told if text.partition(":")[0] in titles]
    names = [_small(text.partition(":")[0]) for text in silent]
    rest = [text for text in told.not_told if text not in silent]
    if not names:
        return rest
    verb = "does" if len(names) == 1 else "do"
    return [
        f"{listed(names)[:1].upper()}{listed(names)[1:]} {verb} not tell policies apart.",
        *rest,
    ]


def _rests(data: Data) -> list[tuple[str, str]]:
    known = (data.run or {}).get("workload", {}).get("quantities", {})
    found = {kind: [name for name, how in known.items() if how == kind] for kind in _KINDS}
    said = [(kind.capitalize(), ", ".join(names)) for kind, names in found.items() if names]
    return [("Made up", "the whole trace"), *said] if data.made_up else said


def _next(data: Data, told: Decision) -> list[tuple[str, str]]:
    if told.orders < FEWEST:
        names = " ".join(f"--policy '{name}'" for name in _replayed(data)[:_NAMED])
        command = f"tracekit replay STORE {names} ... --repeat 20 --out RUN"
        return [("Let the policies meet more orders of arrival.", command)]
    if not told.chosen:
        return [
            (
                "Replay policies that move containers later, too.",
                (
                    "tracekit replay STORE --policy common --rebalance load_spread --repeat 20"
                    " --out RUN"
                ),
            ),
            *_fewer(data, next(iter(_ours(data)), "")),
        ]
    first, found = told.chosen[0], []
    found += _fewer(data, first)
    if "assumptions" not in data.studies and "assumed" in dict(_known(data)).values():
        rival = told.simple or next((n for n in _replayed(data) if n not in {first, OBSERVED}), "")
        found.append(
            (
                "Whether the answer hangs on what was assumed:",
                (
                    f"tracekit vary STORE --policy '{first}' --policy '{rival}'"
                    f" --measure {told.criterion} --out studies/assumptions"
                ),
            )
        )
    return found


def _ours(data: Data) -> list[str]:
    """The policies, the usual one first."""
    names = [name for name in _replayed(data) if name != OBSERVED]
    return sorted(names, key=lambda name: name != "default_scheduler")


def _fewer(data: Data, policy: str) -> list[tuple[str, str]]:
    """How to ask for the fewest nodes; nothing where it was asked."""
    if not policy or fewest.STUDY in data.studies:
        return []
    limit = "--limit 'overloaded_node_steps <= base'"
    return [
        (
            f"How many nodes {policy} needs for no more overload than on all, and which can go:",
            f"tracekit shrink STORE --policy '{policy}' {limit} --out studies/fewest",
        )
    ]


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
        (kind.capitalize(), ", ".join(name for name, how in known.items() if how == kind))
        for kind in ("recorded", "inferred", "absent")
        if kind in known.values()
    ]
    made_up = ["This trace is made up (tracekit synth)."] if data.made_up else []
    if not rows:
        return Answer(
            asked="",
            sentence="The store holds no rows yet, so there is nothing to say.",
            next=[("Take trace files in:", "tracekit ingest SRC STORE")],
        )
    return Answer(
        asked="What does this trace show? No policy has been replayed on it yet.",
        sentence=f"The store holds {count(rows, 'row')}; what stands out in them is below.",
        warnings=made_up,
        rests=rests,
        next=[
            (
                "Place its containers anew, to see what a policy would change:",
                "tracekit replay STORE --policy common --repeat 20 --out RUN",
            )
        ],
    )
