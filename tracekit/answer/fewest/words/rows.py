"""The table of a study of the fewest nodes: production and each policy, as rows of texts.

The command line and notebooks show these; neither makes its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.answer.fewest.found import COST, NODES
from tracekit.answer.fewest.words.broken import number
from tracekit.answer.fewest.words.nodes import added, gone
from tracekit.answer.fewest.words.told import span
from tracekit.answer.fitness import STICK
from tracekit.replay.measures import COST_PER_HOUR, FULLEST
from tracekit.study import Study
from tracekit.words import counted

#: The column of what the nodes that stay cost.
_COST = ["cost/h"]


def caption(study: Study) -> str:
    """What the rows are."""
    return f"Fewest of {counted(study.about['nodes'], 'node')}"


def heads(study: Study) -> list[str]:
    """What the columns are called; cost where it is what is to be least."""
    cost = _COST[: _by_cost(study)]
    return ["policy", "nodes", "can go", "bound", *cost, "CPU", "memory", "overload"]


def rows(study: Study) -> list[list[Any]]:
    """A row for production, if it is known, and for each policy that has an answer."""
    by_cost = _by_cost(study)
    found = (row for row in study.frames["policies"].to_dicts() if row["problem"] is None)
    return [*_production(study, by_cost), *(_row(row, by_cost) for row in found)]


def note(study: Study) -> str:
    """What the columns mean that do not say it."""
    return (
        "CPU, memory: highest use of any node; overload: node-steps above what a node has"
        f"{_costs(_by_cost(study))}{_to_add(study)}{_sticks(study)}"
    )


def problems(study: Study) -> list[str]:
    """The policies without an answer, each with the reason."""
    found = study.frames["policies"].to_dicts()
    return [
        f"{row['policy']}: no answer, {row['problem']}"
        for row in found
        if row["problem"] is not None
    ]


def _by_cost(study: Study) -> bool:
    return bool(study.about.get("least", NODES) == COST)


def _row(row: Mapping[str, Any], by_cost: bool) -> list[Any]:
    return [
        row["policy"],
        _between(row["nodes_low"], row["nodes"]),
        _can_go(row),
        row["bound"],
        *([f"{row['cost_kept_per_hour']:,.2f}"] if by_cost else []),
        *_use(row),
    ]


def _can_go(row: Mapping[str, Any]) -> str:
    """How many nodes can go, or have to be added."""
    low, high = gone(row), gone({**row, "nodes": row["nodes_low"]})
    if not added(row):
        return _between(low, high)
    if low:
        return f"{_between(low, high)}, +{added(row):,}"
    return f"+{_between(max(added(row) - high, 0), added(row))}"


def _between(low: int, high: int) -> str:
    return span(low, high).replace(" to ", "..")


def _production(study: Study, by_cost: bool) -> list[list[Any]]:
    """What production came to, as a row."""
    observed = study.about["observed"]
    if not observed:
        return []
    measures = observed["measures"]
    cost = measures.get(COST_PER_HOUR)
    paid = [None if cost is None else f"{cost:,.2f}"]
    return [["observed", observed["nodes"], None, None, *paid[:by_cost], *_use(measures)]]


def _use(row: Mapping[str, Any]) -> Sequence[str]:
    return [number(name, row.get(name)) for name in FULLEST]


def _to_add(study: Study) -> str:
    found = study.frames["policies"].filter(study.frames["policies"]["problem"].is_null())
    more = any(added(row) for row in found.to_dicts())
    return "; can go: +N are nodes to add" if more else ""


def _costs(by_cost: bool) -> str:
    return "; cost/h: of the nodes that stay; of production, of those in use" if by_cost else ""


def _sticks(study: Study) -> str:
    return "".join(f"; {name}: {STICK}" for name in study.about.get("yardsticks", ()))
