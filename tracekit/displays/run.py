"""A replay: what it lets one decide, and its policies by the measures that decide."""

from tracekit.answer.decide import choose
from tracekit.answer.intervals import COMPARED
from tracekit.answer.run_facts import answer_replays, unit_of
from tracekit.answer.standings import standings
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import Run
from tracekit.report.sentences import amount
from tracekit.report.terminal import summary
from tracekit.shown import Page, page_of
from tracekit.words import counted


def page(run: Run) -> Page:
    """The page of a replay."""
    load, found = run.workload, results(run)
    names = [one for one in COMPARED if one in found.measures]
    stands = {name: standings(found, name) for name in names}
    groups = [row.names for row in stands[names[0]].rows] if names else list(found.groups)
    return Page(
        title=(
            f"Replay of {load.name}: {counted(load.containers, 'container')} on"
            f" {counted(load.nodes, 'node')}, {counted(len(found.policies), 'policy')}"
        ),
        lines=summary(answer_replays(found, choose(found))),
        columns=["policy", *(found.measures[name].title for name in names)],
        rows=[
            [
                ", ".join(group),
                *(
                    None if row is None else amount(row.mean, unit_of(found.measures[name]))
                    for name in names
                    for row in [stands[name].row(group[0])]
                ),
            ]
            for group in groups
        ],
        rest=page_of(run).rest,
    )
