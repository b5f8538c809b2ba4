"""A replay: what it lets one decide, the measures that tell, and a ranking by the first of them."""

from collections.abc import Sequence

from tracekit.answer.advice import sentence
from tracekit.answer.decision import decision
from tracekit.answer.filled import filled
from tracekit.answer.standings import Standings, standings
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.runs.kept_back import not_free
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run
from tracekit.replay.runs.shown import PERCENT, shown
from tracekit.shown import Bar, Page, page_of
from tracekit.words import counted

#: Measures beside each other in the table.
_MEASURES = 6


def page(run: Run) -> Page:
    """The page of a replay."""
    load, found = run.workload, results(run)
    told = decision(found)
    ranked = _ranked(found, told.criterion)
    first = ranked[0] if ranked else None
    columns, rows = _table(found, ranked)
    return Page(
        title=(
            f"Replay of {load.name}: {counted(load.containers, 'container')} on"
            f" {counted(load.nodes, 'node')},"
            f" {counted(len(found.policies), 'policy')}"
        ),
        lines=[
            sentence(found, told),
            *filter(None, [filled(found), not_free(found.manifest.get("workload", {}))]),
            *told.not_told[:2],
        ],
        columns=columns,
        rows=rows,
        bars=_bars(found, first, told.chosen) if first else (),
        axis=_axis(found, first) if first else "",
        rest=[*page_of(run).rest, "a page about it: tracekit.report(its folder, 'report.html')"],
    )


def _ranked(found: Results, criterion: str) -> list[Standings]:
    """By the measures that tell, that which decided first; by the first measures if none does.

    Overload is always there, and first where none decided: it is what may have barred policies.
    """
    every = [standings(found, name) for name in found.measures]
    telling = [one for one in every if one.tells] or every
    telling += [one for one in every if one.measure == OVERLOAD and one not in telling]
    first = (criterion, OVERLOAD)
    place = {name: at for at, name in enumerate(first) if name}
    return sorted(telling, key=lambda one: place.get(one.measure, len(first)))[:_MEASURES]


def _table(found: Results, ranked: Sequence[Standings]) -> tuple[list[str], list[Sequence[object]]]:
    """A row for each group of policies that place alike, best first."""
    if not ranked:
        return [], []
    rows: list[Sequence[object]] = [
        [", ".join(row.names), *(_cell(found, one, row.names[0]) for one in ranked)]
        for row in ranked[0].rows
    ]
    return ["policy", *(found.measures[one.measure].title for one in ranked)], rows


def _cell(found: Results, one: Standings, policy: str) -> object:
    row = one.row(policy)
    if row is None:
        return None
    measure = found.measures[one.measure]
    if row.reach is None and not measure.share:
        return row.mean
    return shown(measure, row.mean, row.reach, below=row.below, unit=True)


def _bars(found: Results, one: Standings, chosen: Sequence[str]) -> list[Bar]:
    scale = PERCENT if found.measures[one.measure].share else 1
    return [
        Bar(
            name=", ".join(row.names),
            value=scale * row.mean,
            low=None if row.low is None else scale * row.low,
            high=None if row.high is None else scale * row.high,
            strong=bool(set(row.names) & set(chosen)),
        )
        for row in one.rows
    ]


def _axis(found: Results, one: Standings) -> str:
    measure = found.measures[one.measure]
    best = {"low": "lower is better", "high": "higher is better"}.get(str(measure.better), "")
    unit = "%" if measure.share else measure.unit
    return ", ".join(part for part in (f"{measure.title} [{unit}]", best) if part)
