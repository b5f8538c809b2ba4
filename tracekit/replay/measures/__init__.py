"""Measures of a replay: an object each, whose name is the measure's name in the summary.

A measure says how it is taken at a sampling step and over all of them, its unit, its words, which
end is better and why. The replay, its intervals, comparisons, thresholds, the report and the
reference read it here. A measure of each resource is one object too: ``max_fraction`` gives
``cpu_max_fraction``, ``memory_max_fraction`` and one of every further resource of the workload.
So a workload (``of_workload``) or the columns of a frame (``measures_in``) say which measures
apply; ``all_measures`` has those that every workload may have.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from numpy.typing import NDArray

from tracekit.base import registry
from tracekit.base.arrays import IntArray
from tracekit.base.words import RESOURCES, words_of
from tracekit.cluster.workload import Workload
from tracekit.policy.view.cluster import TakenOff
from tracekit.policy.view.usage import OverTime
from tracekit.replay.measures.room import measured_columns, measured_names
from tracekit.replay.measures.sampled import Held, Sampled

#: What the heads of narrow columns call those with long names.
_HEADS = {"memory": "mem", "network": "net"}
#: Measures that answers ask for by their name.
OVERLOAD, COST_PER_HOUR = "overloaded_node_steps", "cost_per_hour"
CONFLICTS = "conflicts"
NODES, NODES_MOST, NODES_AT_END = "nodes_used_mean", "nodes_used_max", "nodes_used_end"
#: How full the fullest node gets, and how often one needed more than it has.
FULLEST = ("cpu_max_fraction", "memory_max_fraction", OVERLOAD)
#: What a measure over all resources needs: one beyond CPU and memory.
FURTHER = "further"
#: What the words of measures say of a further resource beyond CPU and memory.
DEMAND = "; demand is the use where it is recorded, else what is requested"
#: The few that every answer begins with, as far as they are known, the most asked for first.
FIRST = (
    OVERLOAD,
    "pending",
    NODES,
    COST_PER_HOUR,
    "cpu_max_fraction",
    "memory_max_fraction",
    "moves",
)
#: What sentences call the end that is better.
ENDS = {"low": "lower", "high": "higher", None: "neither end"}
#: The measure of each resource that every frame with a resource has.
_ALWAYS = "max_fraction"
#: Endings of names that hold a share 0..1, shown in percent.
SHARES = ("_fraction", "_share")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A replay that is over.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each container was placed last, -1 for never.
    measured : mapping
        Measures over the steps, by name.
    move_downtime_ms : int
        What one move costs.
    over_time : OverTime
        How full each node was.
    conflicts : int, optional
        Decisions of several schedulers that were made again; None for one.
    """

    load: Workload
    node: IntArray
    measured: Mapping[str, Any]
    move_downtime_ms: int
    taken_off: TakenOff
    over_time: OverTime
    conflicts: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """A measure at one sampling step: a column of ``steps.parquet``.

    Parameters
    ----------
    column : str
        Of a measure of each resource without the resource: ``max_fraction``.
    at : function(Sampled) -> array, shape (steps,) or (steps, resources), optional
        Its values, of each resource of the view in the second case; NaN for what is not defined.
        A measure of each resource is asked again for each view of ``Sampled.further``.
    held : function(Held) -> array, shape (stretches,) or (stretches, measured), optional
        The same of what changes only where a container moves, as requests do; of all measured
        resources at once. Neither ``at`` nor ``held`` for what the engine counts itself.
    whole : bool
        Whether it counts.
    drawn : str
        What its axis says, with the unit, where it may be drawn over time.
    """

    column: str
    at: Callable[[Sampled], NDArray[Any]] | None = None
    held: Callable[[Held], NDArray[Any]] | None = None
    whole: bool = False
    drawn: str = ""

    @property
    def sampled(self) -> bool:
        """Whether a sampler takes it; else the engine counts it."""
        return self.at is not None or self.held is not None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column of ``summary.parquet``; ``{resource}`` in a text stands for each resource.

    Parameters
    ----------
    title, meaning : str
        What tables, figures and sentences call it, and what it means.
    formula : str
        How it is worked out, in a line of plain text.
    group : {'answer', 'resource', 'detail'}
        Whether it may answer what was asked, tells of one resource after another, or is for those
        who look closer.
    unit : str
        ``0..1``, or what it counts.
    better : {'low', 'high', None}
        Which end is better; None where neither is. ``because`` is the reason.
    order : int
        Measures stand in this order.
    per_resource : bool
        Whether it is one of each resource, whose name then stands before the file's.
    step : Step, optional
        How it is taken at a step, and ``over_steps`` what is made of the steps: ``mean``, ``max``,
        ``min``, ``sum`` or ``last``.
    during : {'settled', 'filling', 'whole'}
        Which steps count: those from which on the cluster is filled (all of them where none is
        so), those before, or the whole run.
    of_run : function(Finished) -> number or None, optional
        How it is taken where it is no measure of steps.
    needs : str
        What the workload must know, or there is no such column: ``rules.calls``,
        ``nodes.prices``, ``further`` (see ``knows``); or the replay, ``schedulers``.
    bound : {'any', 'requests', None}
        For which placements ``tracekit.replay.bounds.measures`` proves a bound to which the gap is
        told: of all containers anyhow, or where requests are respected. None: no gap is told.
    compared : bool
        Whether policies and runs are compared by it, on the page and with intervals.
    falls : bool
        Whether fewer nodes bring it down.
    spoken : bool
        Whether a sentence says which policy is at its end.
    short : str
        Its head in the table a replay prints; empty leaves it out there.
    name : str
        Left to the registry.
    """

    title: str
    meaning: str
    unit: str
    better: Literal["low", "high"] | None
    because: str
    order: int
    formula: str = ""
    group: Literal["answer", "resource", "detail"] = "detail"
    per_resource: bool = False
    step: Step | None = None
    over_steps: Literal["mean", "max", "min", "sum", "last"] = "mean"
    during: Literal["settled", "filling", "whole"] = "settled"
    of_run: Callable[[Finished], float | None] | None = None
    needs: str = ""
    bound: Literal["any", "requests"] | None = None
    compared: bool = True
    falls: bool = False
    spoken: bool = False
    short: str = ""
    name: str = ""

    @property
    def share(self) -> bool:
        """Whether its values are shares, shown in percent."""
        return is_share(self.name)

    @property
    def first(self) -> Literal["low", "high"]:
        """The end that comes first where policies are ranked: the low one if neither is better."""
        return self.better or "low"


@functools.cache
def declared_measures() -> tuple[tuple[str, Measure], ...]:
    """Every measure with its name in the code, in order; those of installed packages, too."""
    own = registry.named(sys.modules[__name__], Measure)
    found = registry.with_brought(own, "tracekit.measures", _is_measure, "measure")
    return tuple(sorted(found.items(), key=lambda one: one[1].order))


def _is_measure(name: str, brought: object) -> bool:
    return name.isidentifier() and isinstance(brought, Measure)


@functools.cache
def all_measures(resources: tuple[str, ...] = tuple(RESOURCES)) -> dict[str, Measure]:
    """Every measure by its name, of each of the resources one, in order."""
    return {
        one.name: one
        for name, found in declared_measures()
        for one in _each(name, found, resources)
    }


def of_workload(load: Workload, *beside: str) -> dict[str, Measure]:
    """The measures that a workload has: of its resources, and as far as it knows what they need.

    ``beside`` names what else is known of the replay.
    """
    every = all_measures(measured_names(load))
    return {
        name: one
        for name, one in every.items()
        if not one.needs or one.needs in beside or knows(load, one.needs)
    }


def knows(load: Workload, needs: str) -> bool:
    """Whether a workload knows what a measure needs; of ``further`` it measures a resource."""
    if needs == FURTHER:
        return len(measured_columns(load)) > len(RESOURCES)
    part, _, field = needs.partition(".")
    return getattr(getattr(load, part, None), field, None) is not None


def measures_in(columns: Iterable[str]) -> dict[str, Measure]:
    """The measures that a frame has, as ``summary.parquet``; in order."""
    there = set(columns)
    every = all_measures(tuple(dict.fromkeys([*RESOURCES, *resources_in(columns)])))
    return {name: one for name, one in every.items() if name in there}


def resources_in(columns: Iterable[str]) -> list[str]:
    """The resources of which a frame has measures, in its order: cpu, memory, network."""
    end = f"_{_ALWAYS}"
    return [name.removesuffix(end) for name in columns if name.endswith(end)]


def find_measure(name: str) -> Measure | None:
    """The measure of a name, of whatever resource; None where no workload can have it."""
    known = all_measures().get(name)
    if known is not None:
        return known
    ends = [(end, one) for end, one in declared_measures() if one.per_resource]
    for end, one in sorted(ends, key=lambda it: -len(it[0])):
        if name.endswith(f"_{end}"):
            return _of_resource(end, one, name.removesuffix(f"_{end}"))
    return None


def title_of(name: str) -> str:
    """What sentences call a measure; its name where it is none."""
    measure = find_measure(name)
    return name if measure is None else small(measure.title)


def compared(columns: Iterable[str] | None = None) -> dict[str, Measure]:
    """The measures that policies and runs are compared by; those of a frame if it is given."""
    every = all_measures() if columns is None else measures_in(columns)
    return {name: one for name, one in every.items() if one.compared}


def of_demand(summary: pl.DataFrame) -> dict[str, Measure]:
    """The measures that policies of a summary are compared by, of resources that are asked for."""
    ends = [end for end, one in declared_measures() if one.per_resource]
    idle = {f"{resource}_{end}" for resource in not_asked_for(summary) for end in ends}
    return {name: one for name, one in compared(summary.columns).items() if name not in idle}


def not_asked_for(summary: pl.DataFrame) -> list[str]:
    """The resources of a summary that no container uses or requests.

    Every value of theirs is 0, which reads like a measured one. The bound is of all containers, so
    that it is above 0 where those that ask for a resource wait.
    """
    return [
        resource
        for resource in resources_in(summary.columns)
        if not (summary[f"{resource}_{_ALWAYS}"].max() or 0)
    ]


def _each(name: str, measure: Measure, resources: Iterable[str]) -> list[Measure]:
    """A file's measure with its name; one of each resource where it is such."""
    if not measure.per_resource:
        return [dataclasses.replace(measure, name=name)]
    return [_of_resource(name, measure, resource) for resource in resources]


def of_use(measure: Measure) -> bool:
    """Whether it is of how much of a resource is in use, not of how requests lie.

    Use changes from sample to sample; what changes only where a container moves is of requests.
    """
    return measure.per_resource and measure.step is not None and measure.step.at is not None


def _demanded(text: str) -> str:
    """A text about the use of a resource of which requests stand in where no use is recorded."""
    asked = text.replace("{resource} use", "{resource} demand")
    return asked.replace("use of {resource}", "{resource} demand")


def _of_resource(name: str, measure: Measure, resource: str) -> Measure:
    words = words_of(resource)

    def told(text: str) -> str:
        return (text if resource in RESOURCES else _demanded(text)).format(resource=words)

    def said(text: str) -> str:
        text = told(text)
        return text[:1].upper() + text[1:]

    step, further = measure.step, of_use(measure) and resource not in RESOURCES
    # whoever does not respect requests may put a further resource where there is none of it
    bound = measure.bound if resource in RESOURCES else measure.bound and "requests"
    return dataclasses.replace(
        measure,
        name=f"{resource}_{name}",
        bound=bound,
        title=said(measure.title),
        meaning=told(measure.meaning) + (DEMAND if further else ""),
        formula=told(measure.formula),
        short=measure.short.format(resource=_HEADS.get(resource, resource)),
        step=step
        and dataclasses.replace(step, column=f"{resource}_{step.column}", drawn=said(step.drawn)),
    )


def is_share(column: str) -> bool:
    """Whether a column holds shares, by its name."""
    return column.endswith(SHARES)


def part_column(name: str, part: str) -> str:
    """The column of a part of a measure, its unit last: ``cpu_max_low_fraction``."""
    for unit in SHARES:
        if name.endswith(unit):
            return f"{name.removesuffix(unit)}_{part}{unit}"
    return f"{name}_{part}"


def small(title: str) -> str:
    """A title inside a sentence: CPU stays CPU."""
    plain = title.split(maxsplit=1)[0][1:].islower()
    return f"{title[:1].lower()}{title[1:]}" if plain else title
