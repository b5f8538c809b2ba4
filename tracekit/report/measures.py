"""The measures of a replay on the page: which a run has, how one is written, which one ranks.

And how two policies stand by one, and which resource is scarcest, by what a run requested of it.
"""

from dataclasses import dataclass

import polars as pl

from tracekit.answer.amounts import way
from tracekit.answer.may_answer import may_answer
from tracekit.answer.standings import Difference, difference
from tracekit.replay.measures import RESOURCES, Measure, of_demand
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.policies import tested
from tracekit.words import number, percent

#: Of a measure that is no better at either end.
NEITHER = "neither"
#: The measure of how much of a resource is requested.
ALLOCATED = "allocated_share"


def text(measure: Measure, value: float | None) -> str:
    """A value as tables show it."""
    if value is None:
        return "\u2013"
    if measure.share:
        return percent(value, 1)
    return f"{value:,}" if isinstance(value, int) else number(value)


def present(summary: pl.DataFrame) -> list[Measure]:
    """The measures that a summary has, in the order of the page."""
    return list(of_demand(summary).values())


def headline(data: Data) -> Measure | None:
    """The measure of ranks and titles; None where there is no run.

    Where no measure tells policies apart it is the first that is not the same under all.
    """
    if data.results is None or data.decision is None:
        return None
    known = data.results.measures
    if data.decision.criterion:
        return known[data.decision.criterion]
    judged = [one for one in known.values() if one.better is not None]
    answering = may_answer(data.results)
    told = (one for one in (*answering, *judged) if data.standings(one.name).tells)
    varied = (one for one in (*answering, *judged) if _varies(data, one))
    return next(told, next(varied, next(iter(answering or judged), None)))


def _varies(data: Data, measure: Measure) -> bool:
    """Whether it is not the same under every policy, so that a figure of it shows something."""
    return len({row.mean for row in data.standings(measure.name).rows}) > 1


def named(data: Data) -> tuple[str, ...]:
    """The policies that titles speak of, and figures show in colour."""
    measure = headline(data)
    if measure is None or data.decision is None:
        return ()
    if data.decision.subject:
        return (data.decision.subject,)
    best = data.standings(measure.name).best
    ours = [name for row in best for name in row.names if name != OBSERVED]
    return tuple(ours[:1])


@dataclass(frozen=True)
class Beside:
    """A measure of a policy beside another one: ``better``, ``worse``, ``neither`` or empty.

    Empty where they do not differ beyond chance, or by too little to count.
    """

    measure: Measure
    difference: Difference | None
    side: str


def side(data: Data, policy: str, other: str, measure: Measure) -> Beside:
    """How a policy stands beside another by a measure; pages and figures say it by this."""
    found = data.results
    by = None if found is None else difference(found, policy, other, measure.name)
    return Beside(measure, by, NEITHER if measure.better is None else way(measure, by))


def allocated(data: Data) -> dict[str, float]:
    """The largest share of each resource that any policy had requested at a step of a run."""
    steps = data.replay("steps")
    if steps.is_empty():
        return {}
    ours = steps.filter(steps["policy"].is_in(tested(steps)))
    most = {name: ours[name].max() for name in ours.columns if name.endswith(f"_{ALLOCATED}")}
    return {
        name.removesuffix(f"_{ALLOCATED}"): float(share)  # type: ignore[arg-type]
        for name, share in most.items()
        if share is not None
    }


def scarcest_further(data: Data) -> str:
    """The resource beside CPU and memory of which most is requested; empty where none is."""
    shares = {one: share for one, share in allocated(data).items() if one not in RESOURCES}
    first = max(shares, key=lambda one: shares[one], default="")
    return first if first and shares[first] > 0 else ""


def binding(data: Data) -> str:
    """The same where more of it is requested than of CPU and of memory; else empty."""
    shares, further = allocated(data), scarcest_further(data)
    rest = max((shares[one] for one in RESOURCES if one in shares), default=0.0)
    return further if further and shares[further] > rest else ""
