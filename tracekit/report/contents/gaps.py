"""How far policies stay above the lower bound."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.amounts import value_text
from tracekit.replay.measures import Measure, part_column
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND
from tracekit.report.cells import Cell, Column, Table
from tracekit.report.data import Data
from tracekit.report.policies import in_order, label


def gap_table(data: Data) -> Table | None:
    """How far each policy stays above the lower bound; None when the run has no bound.

    At the mean of the orders, as every other table; a difference of shares is in points. A policy
    that left containers waiting has none. Without rows where none has one.
    """
    summary, found = data.replay("summary"), data.results
    if found is None:
        return None
    bound = summary.filter(policy=BOUND)
    measures = [
        one for name, one in found.measures.items() if part_column(name, "gap") in summary.columns
    ]
    if not measures or not len(bound):
        return None
    known = {row["policy"]: row for row in summary.to_dicts()}
    rows = [
        [
            Cell(text=label(name), sort=name),
            *(_gap(found, one, known[name], bound[one.name][0]) for one in measures),
        ]
        for name in in_order(summary)
        if name != BOUND
    ]
    if all(not cell.sort for row in rows for cell in row[1:]):
        rows = []
    columns = [_above(one) for one in measures]
    return Table(
        caption="Distance above the lower bound, mean of the orders (0: no placement can do"
        " better); a dash where the bound is not one for it: bounds on nodes hold for who keeps to"
        " requests, and all of them for who places everything",
        columns=[Column(name="policy", label="Policy", kind="text"), *columns],
        rows=rows,
    )


def _above(measure: Measure) -> Column:
    return Column(name=measure.name, label=measure.title, kind="number", meaning=measure.meaning)


def _gap(found: Results, measure: Measure, row: Mapping[str, Any], bound: float | None) -> Cell:
    """How far a policy is above the bound by a measure."""
    policy = str(row["policy"])
    if row[part_column(measure.name, "gap")] is None or bound is None:
        return Cell(text="\u2013", sort="")
    above = float(found.of(policy, measure.name).mean()) - bound
    shown = value_text(measure, above)
    return Cell(text=shown.replace("%", "pp"), sort=f"{above:.9g}")
