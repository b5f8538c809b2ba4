"""tracekit replay: put a workload through placement policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_table

if TYPE_CHECKING:
    from tracekit.replay.runs.results import Results

PANEL = Panel.replay


def command(asked: Asked, out: Path, json: JsonOption = False) -> None:
    """Replay a workload under placement policies, beside production and a lower bound.

    Without --policy every policy is replayed with its defaults. Policies that are named meet six
    orders of arrival, and of all policies the ten that are compared first (common): one is called
    better only where an interval says so. --repeat 20 asks for more, --repeat 1 for one.
    Every policy also takes near_weight=W: it prefers nodes that keep calls between services on
    the node, with weight W.
    Interrupted, the same command goes on with the policies that are not done yet.

    Example: tracekit replay mystore --policy first_fit --policy least_allocated --out run
    """
    from tracekit.base.facts import read_answer
    from tracekit.replay.runs.results import results
    from tracekit.replay.runs.run_folder import manifest_of
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    run = asked()
    answer = read_answer(out)
    assert answer is not None  # noqa: S101 - a replay writes it
    if json:
        frames = {} if run.differences is None else {"differences": run.differences.to_dicts()}
        parts = {**document(answer), **manifest_of(run), "summary": run.summary.to_dicts()}
        print_json({**parts, **frames})
        return
    load = run.workload
    print("\n".join(answer_lines(answer)))
    heads, rows = table_of(results(run))
    print_table(
        f"{load.name}: {counted(load.containers, 'container')}, {counted(load.nodes, 'node')}",
        heads,
        rows,
        note=f"{out / 'answer.json'} has all facts: tracekit report {out} --out report.html",
    )


def table_of(found: Results) -> tuple[list[str], list[list[str]]]:
    """Policies by the measures that decide, production first, those that place alike as one."""
    from tracekit.answer.intervals import COMPARED
    from tracekit.answer.run_facts import unit_of
    from tracekit.answer.standings import standings
    from tracekit.replay.runs.run import BOUND, OBSERVED
    from tracekit.report.sentences import amount

    names = [one for one in COMPARED if one in found.measures]
    stands = {name: standings(found, name) for name in names}
    units = {name: unit_of(found.measures[name]) for name in names}
    first = [row.names for row in stands[names[0]].rows] if names else []
    groups = sorted(
        [*first, *(one for one in found.groups if one not in first)],
        key=lambda one: OBSERVED not in one,
    )

    def cell(name: str, policy: str) -> str:
        row = stands[name].row(policy)
        return "-" if row is None else amount(row.mean, units[name])

    rows = [[", ".join(group), *(cell(name, group[0]) for name in names)] for group in groups]
    bound = found.summary.filter(policy=BOUND)
    if bound.height:
        proven = (amount(bound[name].item(), units[name]) or "-" for name in names)
        rows.append(["lower bound", *proven])
    return ["policy", *(found.measures[name].short or name for name in names)], rows
