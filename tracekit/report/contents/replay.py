"""What the replay page says beside its figures: the comparison, the gap, the policies."""

import dataclasses
import math
from collections.abc import Container, Sequence
from typing import Any

import polars as pl

from tracekit.answer.advice import NEAREST, keeps_production
from tracekit.answer.amounts import standing_text, value_text
from tracekit.answer.fewest.study import NAME as SHRINK
from tracekit.answer.fitness import above_on_average
from tracekit.answer.moved import bought, moved
from tracekit.answer.overview import idle_told
from tracekit.answer.standings import Standings
from tracekit.replay.measures import ENDS, FIRST, Measure, small
from tracekit.replay.runs import kept_back
from tracekit.replay.runs.lost_nodes import displaced_told
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.run_folder import notes_of
from tracekit.replay.runs.waiting import waiting_told
from tracekit.report import ranks
from tracekit.report.cells import Cell, Column, Table, table
from tracekit.report.data import Data
from tracekit.report.heads import capital
from tracekit.report.measures import headline, present
from tracekit.report.policies import label, tested
from tracekit.report.ranks import RISKY, UNJUDGED
from tracekit.units import MS_PER_MINUTE, duration
from tracekit.words import count, listed, spaced

_CHOSEN, _BEST, _WITHIN = "first choice", "best", "within chance"


def comparison(data: Data) -> Table:
    """Every way to place, the best first, by every measure; the bound apart from them."""
    ranked, found = headline(data), data.results
    if ranked is None or found is None:
        return Table(caption="Policies by measure", columns=[], rows=[])
    order = data.standings(ranked.name).rows
    measures = [ranked, *(one for one in found.measures.values() if one.name != ranked.name)]
    standing = {one.name: data.standings(one.name) for one in measures}
    columns = [
        Column(name="policy", label="Policy", kind="text"),
        *(_column(one, standing[one.name], ranked) for one in measures),
        # a mark beside a name is not in a file of the table
        Column(name="verdict", label="Verdict", kind="text", later=True),
    ]
    told = data.decision
    barred = {name for one in told.left_out for name in one.names} if told else set()
    once = set(told.unjudged) if told else set()
    # in the order of the figure
    place = {policy: at for at, policy in enumerate(ranks.ranked(data)["policy"])}
    groups = sorted((row.names for row in order), key=lambda names: place.get(names[0], 0))
    groups += [names for names in found.groups if names not in groups]
    first = data.decision.subject if data.decision else ""
    kept = told is not None and (not told.chosen or keeps_production(found, told))
    rows = [
        [
            _names(names),
            *(_standing(one, standing[one.name], names[0], barred | once) for one in measures),
        ]
        for names in groups
    ]
    for row, names in zip(rows, groups, strict=True):
        if first in names:
            mark = NEAREST if kept else _CHOSEN
            row[1] = dataclasses.replace(row[1], mark=mark)
    rows = [
        [*_marked(row, names, data), _verdict(names, first, data, kept=kept)]
        for row, names in zip(rows, groups, strict=True)
    ]
    top = _top(kept=kept, first=first, more=_may(groups, first, data))
    return Table(
        caption=f"Ways to place: {top}, best {ranked.title} first; \u00b1 is half of the 95 %"
        " interval",
        columns=columns,
        rows=rows,
        apart=_bound(data, measures),
    )


def _bound(data: Data, measures: Sequence[Measure]) -> list[list[Cell]]:
    """The row of the bound, where there is one; no verdict is given on it."""
    bound = data.replay("summary").filter(policy=BOUND)
    name = Cell(text=label(BOUND), sort=BOUND, full=BOUND)
    return [[name, *_plain(bound, measures), Cell(text="", sort="")]] if len(bound) else []


def _may(groups: Sequence[Sequence[str]], first: str, data: Data) -> bool:
    """Whether a policy beside the one on top may be chosen, with nothing said against it."""
    return any(
        first not in names and OBSERVED not in names and not _against(names[0], data)
        for names in groups
    )


def _top(*, kept: bool, first: str, more: bool) -> str:
    """What stands on top of the table, and after it; ``more`` if others may be chosen."""
    if not first:
        return "those that may be chosen" if more else "none may be chosen"
    what = f"what {NEAREST}, as production is kept" if kept else "the first choice"
    return f"{what}, then the others that may be chosen" if more else f"{what}; no other may be"


def _column(measure: Measure, found: Standings, ranked: Measure) -> Column:
    told = found.tells or len({row.mean for row in found.rows}) > 1
    first = measure.name == ranked.name or (told and measure.name in FIRST)
    meaning = f"{measure.meaning}; {ENDS[measure.better]} is better"
    return Column(
        name=measure.name, label=measure.title, kind="number", meaning=meaning, later=not first
    )


def _verdict(names: Sequence[str], first: str, data: Data, *, kept: bool) -> Cell:
    """The answer's verdict on a row: that it is the first choice, or why it is not chosen."""
    said = [(NEAREST if kept else _CHOSEN) if first in names else "", _against(names[0], data)]
    text = "; ".join(filter(None, said))
    return Cell(text=text, sort=text)


def _against(policy: str, data: Data) -> str:
    """Why a policy is not to be chosen, or not without a second look; empty for any other."""
    told = data.decision
    if policy == OBSERVED:
        return ""
    if told is not None and policy in told.unjudged:
        return UNJUDGED
    if told is not None and any(policy in one.names for one in told.left_out):
        return "not to be chosen"
    risky = data.results is not None and above_on_average(data.results, policy)
    return RISKY if risky else ""


def _marked(row: list[Cell], names: Sequence[str], data: Data) -> list[Cell]:
    """A row that is not to be chosen, or may overload nodes, says so, and is never best."""
    why = _against(names[0], data)
    if not why:
        return row
    first, *others = row
    marks = [first.mark, why]
    plain = [dataclasses.replace(one, mark="") for one in others]
    return [dataclasses.replace(first, mark="; ".join(filter(None, marks))), *plain]


def _names(names: Sequence[str]) -> Cell:
    """A row's policy, and those that place exactly alike."""
    others = f"= {', '.join(map(label, names[1:]))}" if len(names) > 1 else ""
    # what is taken away as CSV has the names alone
    return Cell(text=label(names[0]), sort=names[0], mark=others, full=", ".join(names))


def _standing(measure: Measure, found: Standings, policy: str, barred: Container[str]) -> Cell:
    """A policy's value; marked where it is the best that may be chosen, or within chance of it."""
    row = found.row(policy)
    if row is None:
        return Cell(text="\u2013", sort="")
    best = [one for one in found.best if one.names[0] not in barred]
    if len(best) > len(found.rows) / 2:
        best = [one for one in best if one.mean == best[0].mean]
    mark = "" if measure.better is None or row not in best else _WITHIN
    # what is as good as the best is best, too
    mark = _BEST if mark and row.mean == best[0].mean else mark
    known = [end for end in (row.low, row.high) if end is not None and math.isfinite(end)]
    ends = [f"{end:.9g}" for end in known] if len(known) > 1 else []
    return Cell(text=standing_text(measure, row), sort=f"{row.mean:.9g}", mark=mark, ends=ends)


def _plain(rows: pl.DataFrame, measures: Sequence[Measure]) -> list[Cell]:
    known = {one.name: rows[one.name][0] for one in measures}
    return [
        Cell(
            text=value_text(one, known[one.name]),
            sort="" if known[one.name] is None else f"{known[one.name]:.9g}",
        )
        for one in measures
    ]


def directions(data: Data) -> str:
    """Which end of the measures is better, and what the table begins with."""
    measures = present(data.replay("summary"))
    high = [small(one.title) for one in measures if one.better == "high"]
    but = f", but for {listed(high)}" if high else ""
    neither = sum(one.better is None for one in measures)
    none = (
        f" Neither end is better of {count(neither, 'measure')}, as how much is used or allocated"
        " and how many nodes are in use: nobody is marked best by them."
    )
    idle = idle_told(data.replay("summary"))
    return (
        f"{capital(idle)}{'. ' * bool(idle)}Lower is better{but}.{none * bool(neither)} The"
        " table begins with the measures that decide; Columns has all. Policies that placed every"
        " container alike in every order are one row."
    )


def verdicts(data: Data) -> list[str]:
    """What the comparison says and does not say, in sentences."""
    if data.decision is None:
        return []
    summary = data.replay("summary")
    policies = tested(summary)
    few = f"{len(policies) or 'No'} policy was replayed; a comparison needs two."
    said = [few] if len(policies) < 2 else []
    orders = (data.run or {}).get("repeats", 1)
    return [
        *said,
        *(f"{one}." for one in notes_of((data.run or {}).get("policies", []))),
        *_left_out(data),
        *(spaced(f"{one}.") for one in displaced_told(summary, orders=orders)),
        *(f"{one}." for one in moved(summary, orders=orders)),
        *(spaced(f"{one}.") for one in (bought(data.results) if data.results else ())),
    ]


def waits(data: Data) -> list[str]:
    """Whom each policy never placed, and why, in sentences."""
    return [spaced(f"{one}.") for one in waiting_told((data.run or {}).get("policies", []))]


def unfit(data: Data) -> Table:
    """Policies that are not to be chosen, whatever they are good at, and why."""
    found = data.decision.left_out if data.decision else ()
    rows = [{"policy": listed(list(map(label, one.names))), "why_not": one.why} for one in found]
    schema = {"policy": pl.String, "why_not": pl.String}
    return table(pl.DataFrame(rows, schema=schema), "Not to be chosen, and why")


def _left_out(data: Data) -> list[str]:
    """Which policies read resources that the workload does not have."""
    policies = [one for one in (data.run or {}).get("policies", []) if one.get("left_out")]
    if not policies:
        return []
    names = listed(list(dict.fromkeys(name for one in policies for name in one["left_out"])))
    who = listed([one["policy"] for one in policies])
    why = "This workload does not have them, so the policies decided without them."
    return [f"{who} also read {names}. {why}"]


def policy_table(data: Data) -> Table:
    """Every policy of the run, its parameters spelled out and its source."""
    rows = [
        {
            "policy": policy["policy"],
            "parameters": ", ".join(f"{k}={v}" for k, v in policy["parameters"].items()) or "none",
            "source": policy.get("source", ""),
        }
        for policy in (data.run or {}).get("policies", [])
    ]
    schema = dict.fromkeys(("policy", "parameters", "source"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Policies with every parameter")


def _averages(load: dict[str, Any]) -> str:
    minutes = round((load["settled_ms"] - load["time_min_ms"]) / MS_PER_MINUTE)
    if minutes <= 0:
        return "Averages are over all of them."
    return (
        f"Containers arrive during the first {duration(minutes * MS_PER_MINUTE)}; averages are"
        " over the time after that."
    )


def not_free(data: Data) -> str:
    """That nodes without containers are not free for that, where they are not; else empty."""
    said = kept_back.not_free((data.run or {})["workload"])
    shown = SHRINK in data.studies
    return spaced(f"{said.rstrip('.')}, on the page Fewest nodes." if said and shown else said)


def workload_sentence(data: Data) -> str:
    """What was replayed, in one sentence."""
    load = (data.run or {})["workload"]
    return (
        f"{count(load['containers'], 'container')} on {count(load['nodes'], 'node')} through"
        f" {count(load['steps'], 'step')} of {duration(load['step_ms'])}. {_averages(load)}"
    )
