"""A run on one screen: its policies in rows, the measures that tell them apart in columns."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tracekit.answer.decision import decision
from tracekit.answer.fitness import barred_for_good, judged
from tracekit.answer.left_waiting import (
    PENDING,
    STEPS,
    mean_left,
    steps_waited,
    waits_too_much,
)
from tracekit.answer.may_answer import separates
from tracekit.answer.standings import Standings, standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import (
    FULLEST,
    NODES,
    Measure,
    find_measure,
    not_asked_for,
    small,
    words_of,
)
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import BOUND, OBSERVED, Run
from tracekit.replay.runs.shown import shown
from tracekit.words import counted, listed

#: Columns beside the policies that 80 characters bear.
COLUMNS = 5
#: What every run shows where it is known, so that two runs are read in the same way.
ALWAYS = (NODES, *FULLEST)
#: Stands behind the name of a policy that may not be chosen.
BARRED = "*"
#: What cells with an interval have.
_RANGES = ("±", "(")


@dataclass(frozen=True, kw_only=True)
class Overview:
    """A table with what stands under it.

    Parameters
    ----------
    heads : tuple of str
        Of the columns, the policies' first; the unit in brackets.
    rows : tuple of tuples
        Production first, then the best by the measure that decides first, then those that met
        fewer orders than others; the lower bound last. Policies that leave more containers waiting
        than they may come after the others, the fewest first, as the load of their other measures
        is smaller.
        Policies that place alike are one row; one that may not be chosen has a mark.
    note : tuple of str
        What the +- covers, what the heads mean, what is the same under every policy.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: tuple[str, ...]


def overview(run: Results | Run | Path | str) -> Overview:
    """A run on one screen, with ``COLUMNS`` measures at most."""
    found = results(run)
    stands = {one.name: standings(found, one.name) for one in _short(found)}
    decides = _decides(found, stands)
    waits, waited = bool(_too_many_wait(found)), _only_for_a_while(found)
    told = sorted(
        stands.values(), key=lambda one: (_place(one, decides, waits=waits), *_weight(found, one))
    )
    always = {*ALWAYS, *([PENDING] if waits and waited is None else [])}
    picked = [one for one in told if one is decides or one.measure in always or not _same(one)]
    picked = picked[: COLUMNS - (waited is not None)]
    measures = [found.measures[one.measure] for one in picked]
    barred = _barred(found)
    rows = [
        (
            _named(names, barred),
            *([f"{steps_waited(found, names[0]):,.0f}"] if waited else []),
            *(_cell(found, names[0], stand) for stand in picked),
        )
        for names in _ordered(found, picked)
    ]
    if BOUND in found.summary["policy"]:
        first = [waited] if waited else []
        rows.append((_bound(found), *(_of_bound(found, one) for one in [*first, *measures])))
    return Overview(
        heads=("policy", *(_head(one) for one in [*([waited] if waited else []), *measures])),
        rows=tuple(rows),
        note=(
            *([f"by {_title(found, decides)}, which decides"] if decides else []),
            *(["who leaves the fewest containers waiting first"] if waits else []),
            *([f"{BARRED}: barred, not to be chosen"] if barred else []),
            *([f"{waited.short}: {waited.title}, in the first order of arrival"] if waited else []),
            *_note(found, measures, picked, list(stands.values()), rows),
            *filter(None, [idle_told(found.summary)]),
        ),
    )


def _decides(found: Results, stands: dict[str, Standings]) -> Standings | None:
    """The measure that the answer of the run goes by; None if nothing can be concluded."""
    return stands.get(decision(found).criterion or "") if found.policies else None


def _barred(found: Results) -> set[str]:
    """The policies that may not be chosen, which a reader has to see beside good numbers."""
    if not found.policies:
        return set()
    return {name for one in decision(found).left_out for name in one.names if name != OBSERVED}


def _named(names: Sequence[str], barred: AbstractSet[str]) -> str:
    return ", ".join(f"{name} {BARRED}" if name in barred else name for name in names)


def _place(stand: Standings, decides: Standings | None, *, waits: bool) -> int:
    """Orders columns: the deciding measure, those that every run shows, then the others.

    Where too many wait, the number that waits orders the rows, so its column is among the first.
    """
    if stand is decides:
        return -2
    if waits and stand.measure == PENDING:
        return -1
    return ALWAYS.index(stand.measure) if stand.measure in ALWAYS else len(ALWAYS)


def _title(found: Results, stand: Standings) -> str:
    return small(found.measures[stand.measure].title)


def _short(found: Results) -> list[Measure]:
    """The measures with a head of their own of which something is known of all policies."""
    return [
        one
        for one in found.measures.values()
        if one.short and all(found.known(name, one.name) for name in found.policies)
    ]


def _weight(found: Results, stand: Standings) -> tuple[bool, bool, bool]:
    """Orders measures: first those that separate policies, last those equal for all."""
    measure = found.measures[stand.measure]
    return (not stand.tells, not separates(found.summary, measure), measure.group != "answer")


def _same(stand: Standings) -> bool:
    return len({row.mean for row in stand.rows}) < 2


def _ordered(found: Results, picked: Sequence[Standings]) -> list[tuple[str, ...]]:
    if not picked:
        return list(found.groups)
    names = [row.names for row in picked[0].rows]
    waits = {name: mean_left(found, name) for name in _too_many_wait(found)}
    return sorted(
        names,
        key=lambda one: (
            OBSERVED not in one,
            not judged(found, one[0]),
            waits.get(one[0], (-1.0, -1.0)),
        ),
    )


def _too_many_wait(found: Results) -> list[str]:
    """The policies that leave more containers waiting than a policy may."""
    return [name for name in found.policies if name != OBSERVED and waits_too_much(found, name)]


def _only_for_a_while(found: Results) -> Measure | None:
    """The measure of how long containers wait, where too many do and all get a node; else None."""
    waits = _too_many_wait(found)
    never = any(mean_left(found, name)[0] for name in found.policies)
    return find_measure(STEPS) if waits and not never else None


def _cell(found: Results, policy: str, stand: Standings) -> str:
    row = stand.row(policy)
    if row is None:
        return "-"
    return shown(found.measures[stand.measure], row.mean, row.reach, below=row.below)


def _bound(found: Results) -> str:
    """What the bound is called: where some waited under a policy, that it is of placing all."""
    waited = any(found.waited(name) for name in found.policies if name != OBSERVED)
    return f"{BOUND} of placing all" if waited else BOUND


def _of_bound(found: Results, measure: Measure) -> str:
    value = found.summary.filter(policy=BOUND)[measure.name].item()
    return "-" if value is None else shown(measure, float(value), None)


def _head(measure: Measure) -> str:
    return f"{measure.short} [%]" if measure.share else measure.short


def _of_one_order(found: Results, most: int) -> list[str]:
    """A note on rows without an interval."""
    once = [name for name in found.policies if found.orders(name) < most]
    barred = sum(barred_for_good(found, name) for name in once)
    open_ones = len(once) - barred
    said = []
    if barred:
        said.append(
            f"{barred} met one order of arrival, so no ±: in it they overload nodes, or leave"
            f" containers waiting, more than {most - 1} others could make up for"
        )
    if open_ones:
        said.append(
            f"the last {open_ones} met one order of arrival, so no ±: one draw judges nobody"
            " (--repeat-policy NAME lets one meet all orders)"
        )
    return said


def _note(
    found: Results,
    measures: Sequence[Measure],
    picked: Sequence[Standings],
    stands: Sequence[Standings],
    rows: Sequence[tuple[str, ...]],
) -> list[str]:
    said = ["; ".join(f"{one.short}: {one.title}" for one in measures)]
    most = found.most_orders
    same = _the_same(found, picked, stands)
    if most > 1:
        covers = " and ".join(found.manifest.get("repeats_cover") or ["order of arrival"])
        if most < FEWEST:
            said.append(
                f"means over {counted(most, 'repeat')}, without ±: an interval needs {FEWEST}"
                f" (--repeat {FEWEST}); what differs between them: {covers}"
            )
            return [*said, *_of_one_order(found, most), *same]
        if not any(sign in cell for row in rows for cell in row[1:] for sign in _RANGES):
            said.append(
                f"means over {counted(most, 'repeat')}; what differs between them: {covers}"
            )
            return [*said, *_of_one_order(found, most), *same]
        said.append(
            "mean ± half of the 95 % interval, for all rows together, over"
            f" {counted(most, 'repeat')};"
            f" what differs between them: {covers}"
            + "; wider for looking twice"
            * (found.looks > 1)
        )
        if len(_rows_of_policies(found)) > 1:
            said.append(
                "two policies may be within chance although their ± do not meet: differences are"
                " corrected for all comparisons of the run (--repeat-up-to adds orders)"
            )
        said += _of_one_order(found, most)
    return [*said, *same]


def idle_told(summary: pl.DataFrame) -> str:
    """A clause on resources that have no measure; empty where every one has its measures."""
    idle = [words_of(one) for one in not_asked_for(summary)]
    return f"no measure of {listed(idle)}: no container uses or requests any" if idle else ""


def _rows_of_policies(found: Results) -> list[tuple[str, ...]]:
    """The policies, those together that place alike; production aside."""
    return [names for names in found.groups if names != (OBSERVED,)]


def _the_same(
    found: Results, picked: Sequence[Standings], stands: Sequence[Standings]
) -> list[str]:
    """What is the same under every policy; of a policy alone, what has no column."""
    alone = len(found.groups) == 1 and len(found.groups[0]) == 1
    same = [one for one in stands if _same(one) and one.rows and not (alone and one in picked)]
    if not same:
        return []
    told = ", ".join(
        f"{found.measures[one.measure].title}"
        f" {shown(found.measures[one.measure], one.rows[0].mean, None, unit=True)}"
        for one in same
    )
    return [f"also: {told}" if alone else f"the same under every policy: {told}"]
