"""Measures of a replay: each is an object whose name is the measure's column in the summary.

A measure defines how it is computed at a sampling step and over all steps, its unit, its texts, and
which end is better. The replay, intervals, comparisons, thresholds, the report and the reference
read it here. A measure of each resource is one object: ``max_fraction`` gives ``cpu_max_fraction``,
``memory_max_fraction`` and one column for every further resource of the workload.
``of_workload`` and ``measures_in`` give the measures of a workload and of a frame; ``all_measures``
gives those that every workload may have.
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
from tracekit.replay.measures.sampled import NodeContents, Sampled

#: Short names of resources for the heads of narrow columns.
_HEADS = {"memory": "mem", "network": "net"}
#: Measures that answers read by their names.
OVERLOAD, COST_PER_HOUR = "overloaded_node_steps", "cost_per_hour"
CONFLICTS = "conflicts"
NODES = "nodes_used_mean"
#: The use of the fullest node, and how often a node was overloaded.
FULLEST = ("cpu_max_fraction", "memory_max_fraction", OVERLOAD)
#: The need (``Measure.needs``) of a measure over all resources: one beyond CPU and memory.
FURTHER = "further"
#: Appended to the meaning of measures of resources beyond CPU and memory.
DEMAND = "; demand is the use where it is recorded, else what is requested"
#: The measures that every answer begins with, as far as the run has them.
FIRST = (
    OVERLOAD,
    "pending",
    NODES,
    COST_PER_HOUR,
    "cpu_max_fraction",
    "memory_max_fraction",
    "moves",
)
#: The better end in a sentence.
ENDS = {"low": "lower", "high": "higher", None: "neither end"}
#: The measure that a frame has for each of its resources.
_ALWAYS = "max_fraction"
#: Endings of names that hold a share 0..1, shown in percent.
SHARES = ("_fraction", "_share")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A finished replay, from which ``Measure.of_run`` computes a measure.

    Parameters
    ----------
    node : int64, shape (containers,)
        The last node of each container, -1 for none.
    measured : mapping
        Measures over the steps, by name.
    move_downtime_ms : int
        The downtime of one move.
    over_time : OverTime
        The use of each node over time.
    conflicts : int, optional
        Decisions that several schedulers had to repeat; None for one scheduler.
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
        The name of the column; for a measure of each resource, without the resource's name.
    at : function(Sampled) -> array, shape (steps,) or (steps, resources), optional
        Computes the values from use; NaN where undefined. For a measure of each resource it is
        called with the view of cpu and memory, and with each view of ``Sampled.further``.
    of_contents : function(NodeContents) -> array, optional
        Computes the values from placements and requests, for all measured resources at once:
        shape (stretches,) or (stretches, measured). A measure that the engine counts has
        neither ``at`` nor ``of_contents``.
    whole : bool
        Whether the values are whole numbers.
    """

    column: str
    at: Callable[[Sampled], NDArray[Any]] | None = None
    of_contents: Callable[[NodeContents], NDArray[Any]] | None = None
    whole: bool = False

    @property
    def sampled(self) -> bool:
        """Whether a sampler computes the measure; otherwise the engine counts it."""
        return self.at is not None or self.of_contents is not None


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column of ``summary.parquet``; ``{resource}`` in a text stands for each resource.

    Parameters
    ----------
    title, meaning : str
        Its name in tables, figures and sentences, and its explanation.
    formula : str
        Its formula, as a line of plain text.
    group : {'answer', 'resource', 'detail'}
        Whether it may answer the question, describes each resource, or is a detail.
    unit : str
        ``0..1``, or the thing that it counts.
    better : {'low', 'high', None}
        Which values are better; None where neither are. ``because`` is the reason.
    order : int
        Its place among the measures; measures with the same place are sorted by name.
    per_resource : bool
        Whether it is a measure of each resource; the resource then precedes its name.
    step : Step, optional
        Its value at a step. ``over_steps`` combines the steps: ``mean``, ``max``, ``min``, ``sum``
        or ``last``.
    during : {'settled', 'filling', 'whole'}
        The steps that count: those of the filled cluster (all steps where none is settled), those
        before, or all.
    of_run : function(Finished) -> number or None, optional
        Computes the measure from the whole replay, where it is not combined from steps.
    needs : str
        The data without which there is no column: of the workload ``rules.calls``,
        ``nodes.prices``, ``further`` (see ``knows``); of the replay ``schedulers``.
    bound : {'any', 'requests', None}
        The placements for which ``tracekit.replay.bounds.measures`` proves a bound: all, or those
        that respect requests. None for a measure without a gap to a bound.
    compared : bool
        Whether policies and runs are compared by it.
    falls : bool
        Whether fewer nodes reduce it.
    short : str
        Its head in the printed table of a replay, which shows ``answer.intervals.COMPARED``; '' for
        its name.
    name : str
        Set by the registry.
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
    short: str = ""
    name: str = ""

    @property
    def share(self) -> bool:
        """Whether its values are shares, which are shown in percent."""
        return is_share(self.name)

    @property
    def first(self) -> Literal["low", "high"]:
        """The end that comes first in a ranking of policies; low where neither end is better."""
        return self.better or "low"


@functools.cache
def declared_measures() -> tuple[tuple[str, Measure], ...]:
    """Return every measure with its name, in order, also those of installed packages."""
    own = registry.named(sys.modules[__name__], Measure)
    declared = registry.with_entry_points(own, "tracekit.measures", _is_measure, "measure")
    return tuple(sorted(declared.items(), key=lambda one: (one[1].order, one[0])))


def _is_measure(name: str, brought: object) -> bool:
    return name.isidentifier() and isinstance(brought, Measure)


@functools.cache
def all_measures(resources: tuple[str, ...] = tuple(RESOURCES)) -> dict[str, Measure]:
    """Return every measure by its name, in order; those per resource once for each resource."""
    return {
        one.name: one
        for name, declared in declared_measures()
        for one in _each(name, declared, resources)
    }


def of_workload(load: Workload, *beside: str) -> dict[str, Measure]:
    """Return the measures that a workload has the data for.

    ``beside`` are needs (``Measure.needs``) that the replay itself meets, such as ``schedulers``.
    """
    every = all_measures(measured_names(load))
    return {
        name: one
        for name, one in every.items()
        if not one.needs or one.needs in beside or knows(load, one.needs)
    }


def knows(load: Workload, needs: str) -> bool:
    """Return whether a workload has the data that a measure needs."""
    if needs == FURTHER:
        return len(measured_columns(load)) > len(RESOURCES)
    part, _, field = needs.partition(".")
    return getattr(getattr(load, part, None), field, None) is not None


def measures_in(columns: Iterable[str]) -> dict[str, Measure]:
    """Return the measures among the columns of a frame such as ``summary.parquet``, in order."""
    present = set(columns)
    every = all_measures(tuple(dict.fromkeys([*RESOURCES, *resources_in(columns)])))
    return {name: one for name, one in every.items() if name in present}


def resources_in(columns: Iterable[str]) -> list[str]:
    """Return the resources whose measures a frame has, in the order of its columns."""
    end = f"_{_ALWAYS}"
    return [name.removesuffix(end) for name in columns if name.endswith(end)]


def find_measure(name: str) -> Measure | None:
    """Return the measure with a name, for any resource; None if no workload can have one."""
    measure = all_measures().get(name)
    if measure is not None:
        return measure
    ends = [(end, one) for end, one in declared_measures() if one.per_resource]
    for end, one in sorted(ends, key=lambda it: -len(it[0])):
        if name.endswith(f"_{end}"):
            return _of_resource(end, one, name.removesuffix(f"_{end}"))
    return None


def title_of(name: str) -> str:
    """Return a measure's title for use within a sentence; the name itself if it is no measure."""
    measure = find_measure(name)
    return name if measure is None else small(measure.title)


def compared(columns: Iterable[str] | None = None) -> dict[str, Measure]:
    """Return the measures by which policies are compared: all of them, or those in ``columns``."""
    every = all_measures() if columns is None else measures_in(columns)
    return {name: one for name, one in every.items() if one.compared}


def of_demand(summary: pl.DataFrame) -> dict[str, Measure]:
    """Return the compared measures of a summary, without those of resources that nothing uses."""
    ends = [end for end, one in declared_measures() if one.per_resource]
    idle = {f"{resource}_{end}" for resource in not_asked_for(summary) for end in ends}
    return {name: one for name, one in compared(summary.columns).items() if name not in idle}


def not_asked_for(summary: pl.DataFrame) -> list[str]:
    """Return the resources of a summary that no container uses or requests: all their values are 0.

    A resource that only waiting containers request is not among them, because the row of the lower
    bound counts these containers too.
    """
    return [
        resource
        for resource in resources_in(summary.columns)
        if not (summary[f"{resource}_{_ALWAYS}"].max() or 0)
    ]


def _each(name: str, measure: Measure, resources: Iterable[str]) -> list[Measure]:
    """The measure with its name; for a measure of each resource one for every resource."""
    if not measure.per_resource:
        return [dataclasses.replace(measure, name=name)]
    return [_of_resource(name, measure, resource) for resource in resources]


def of_use(measure: Measure) -> bool:
    """Return whether a measure is about the use of a resource, and not about requests."""
    return measure.per_resource and measure.step is not None and measure.step.at is not None


def _demanded(text: str) -> str:
    """A text on use, with "demand" in place of "use": requests stand in for missing use."""
    demanded = text.replace("{resource} use", "{resource} demand")
    return demanded.replace("use of {resource}", "{resource} demand")


def _of_resource(name: str, measure: Measure, resource: str) -> Measure:
    words = words_of(resource)

    def filled(text: str) -> str:
        return (text if resource in RESOURCES else _demanded(text)).format(resource=words)

    def heading(text: str) -> str:
        text = filled(text)
        return text[:1].upper() + text[1:]

    step, further = measure.step, of_use(measure) and resource not in RESOURCES
    # a policy that ignores requests may use nodes without the further resource
    bound = measure.bound if resource in RESOURCES else measure.bound and "requests"
    return dataclasses.replace(
        measure,
        name=f"{resource}_{name}",
        bound=bound,
        title=heading(measure.title),
        meaning=filled(measure.meaning) + (DEMAND if further else ""),
        formula=filled(measure.formula),
        short=measure.short.format(resource=_HEADS.get(resource, resource)),
        step=step and dataclasses.replace(step, column=f"{resource}_{step.column}"),
    )


def is_share(column: str) -> bool:
    """Return whether the name of a column is that of a share."""
    return column.endswith(SHARES)


def part_column(name: str, part: str) -> str:
    """Return ``name`` with ``part`` before its unit, such as ``cpu_max_low_fraction``."""
    for unit in SHARES:
        if name.endswith(unit):
            return f"{name.removesuffix(unit)}_{part}{unit}"
    return f"{name}_{part}"


def small(title: str) -> str:
    """Return a title with a small first letter, unless it begins with an abbreviation."""
    plain = title.split(maxsplit=1)[0][1:].islower()
    return f"{title[:1].lower()}{title[1:]}" if plain else title
