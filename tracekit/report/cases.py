"""The table of the first page: each case of the decision beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.base.facts import Answer, Fact
from tracekit.report import sentences
from tracekit.report.tables import CASES, NONE

#: Columns, and what stands over them.
HEADS = {
    "nodes": "Nodes",
    "cpu": "Fullest CPU",
    "memory": "Fullest memory",
    "cost": "Cost an hour",
    "restarted": "Pods restarted",
}
MOST = 6
_CPU, _MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row.

    Parameters
    ----------
    cells : mapping of str to str
        By column; empty where no count of nodes holds.
    instead : str
        The sentence that stands in their place.
    facts : sequence of Fact
        Those that the row shows.
    """

    name: str
    label: str
    cells: Mapping[str, str]
    instead: str
    facts: Sequence[Fact]


def cases(answer: Answer) -> list[Case]:
    """The rows that there is a fact of, six at most."""
    rows = [_row(answer, name) for name in CASES]
    return [row for row in rows if row.facts][:MOST]


def heads(rows: Sequence[Case]) -> dict[str, str]:
    """The columns that a row has a value in; money is headed by its currency."""
    there = {name for row in rows for name, text in row.cells.items() if text != NONE}
    cost = next((one for row in rows for one in row.facts if one.kind == "cost"), None)
    named = HEADS if cost is None else {**HEADS, "cost": _per_hour(cost)}
    return {name: text for name, text in named.items() if name in there}


def _per_hour(cost: Fact) -> str:
    currency = cost.about_it("currency")
    return f"{currency} an hour" if currency else HEADS["cost"]


def _row(answer: Answer, case: str) -> Case:
    count = answer.first("lower_bound" if case == "bound" else "nodes_needed", case=case)
    fullest = {one.measure: one for one in answer.of("fullest_node", case=case)}
    cost = answer.first("cost", case=case)
    shown = {
        "nodes": count,
        "cpu": fullest.get(_CPU),
        "memory": fullest.get(_MEMORY),
        "cost": cost,
        "restarted": answer.first("pods_restarted", case=case),
    }
    facts = [one for one in shown.values() if one is not None]
    cells = {name: NONE if one is None else sentences.value(one) for name, one in shown.items()}
    if cost is not None:
        cells["cost"] = f"{cost.value:,.2f}"
    if case == "today" and facts:
        cells["nodes"] = _of(answer)
    none = count is not None and count.value is None
    return Case(
        name=case,
        label=CASES[case],
        cells={} if none else cells,
        instead=sentences.short(count) if none and count is not None else "",
        facts=facts,
    )


def _of(answer: Answer) -> str:
    """How many nodes there are."""
    of = next((one.about["of"] for one in answer.facts if one.about.get("of")), None)
    return sentences.amount(of, "nodes") or NONE
