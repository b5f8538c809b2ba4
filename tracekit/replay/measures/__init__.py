"""Measures of a replay: one file each, whose name is the measure's name in the summary.

A file says all that is known of its measure: how it is taken at a sampling step and over all of
them, its unit, its words, which end is better and why. The replay, its intervals, comparisons,
thresholds, the report and the reference read it here. A measure of each resource is one file too:
``max_fraction.py`` gives ``cpu_max_fraction``, ``memory_max_fraction`` and one of every further
resource that the workload has: ``network_max_fraction``. So what measures there are is asked of a
workload (``of_workload``) or of the columns of a frame (``measures_in``); ``all_measures`` names
those that every workload may have.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from tracekit import registry
from tracekit.arrays import IntArray
from tracekit.replay.view.room import measured_names
from tracekit.replay.view.sampled import Held, Sampled
from tracekit.replay.workload.workload import Workload

#: Resources whose use is known, in the order of arrays, and what they are called in a sentence.
RESOURCES = {"cpu": "CPU", "memory": "memory"}
#: What sentences call further resources whose name is not a word.
_WORDS = {**RESOURCES, "gpu": "GPU", "nvidia_com_gpu": "GPU (nvidia.com)", "net": "network"}
#: What the heads of narrow columns call those with long names.
_HEADS = {"memory": "mem", "network": "net"}
#: The measure of each resource that every frame with a resource has.
_ALWAYS = "max_fraction"

#: Endings of names that hold a share 0..1, shown in percent.
_SHARES = ("_fraction", "_share")


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
    """

    load: Workload
    node: IntArray
    measured: Mapping[str, Any]
    move_downtime_ms: int


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
        How it is taken at a step, and ``over_steps`` what is made of the settled steps: ``mean``,
        ``max``, ``min`` or ``sum``.
    of_run : function(Finished) -> number or None, optional
        How it is taken where it is no measure of steps.
    needs : str
        What the workload must know, or there is no such column: ``calls``, ``price_per_hour``.
    bound : {'any', 'requests', None}
        For which placements ``tracekit.replay.runs.bounds`` proves a bound to which the gap is
        told: of all containers anyhow, or where requests are respected. None: no gap is told.
    compared : bool
        Whether policies and runs are compared by it, on the page and with intervals.
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
    over_steps: Literal["mean", "max", "min", "sum"] = "mean"
    of_run: Callable[[Finished], float | None] | None = None
    needs: str = ""
    bound: Literal["any", "requests"] | None = None
    compared: bool = True
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
def measure_files() -> tuple[tuple[str, Measure], ...]:
    """Every file's name and measure, in order."""
    found = registry.instances(sys.modules[__name__], Measure).items()
    return tuple(sorted(found, key=lambda one: one[1].order))


@functools.cache
def all_measures(resources: tuple[str, ...] = tuple(RESOURCES)) -> dict[str, Measure]:
    """Every measure by its name, of each of the resources one, in order."""
    return {
        one.name: one for name, found in measure_files() for one in _each(name, found, resources)
    }


def of_workload(load: Workload) -> dict[str, Measure]:
    """The measures that a workload has: of its resources, and as far as it knows what they need."""
    every = all_measures(measured_names(load))
    return {
        name: one
        for name, one in every.items()
        if not one.needs or getattr(load, one.needs) is not None
    }


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
    ends = [(end, one) for end, one in measure_files() if one.per_resource]
    for end, one in sorted(ends, key=lambda it: -len(it[0])):
        if name.endswith(f"_{end}"):
            return _of_resource(end, one, name.removesuffix(f"_{end}"))
    return None


def compared(columns: Iterable[str] | None = None) -> dict[str, Measure]:
    """The measures that policies and runs are compared by; those of a frame if it is given."""
    every = all_measures() if columns is None else measures_in(columns)
    return {name: one for name, one in every.items() if one.compared}


def _each(name: str, measure: Measure, resources: Iterable[str]) -> list[Measure]:
    """A file's measure with its name; one of each resource where it is such."""
    if not measure.per_resource:
        return [dataclasses.replace(measure, name=name)]
    return [_of_resource(name, measure, resource) for resource in resources]


def words_of(resource: str) -> str:
    """What sentences call a resource."""
    return _WORDS.get(resource, resource.replace("_", " "))


def _of_resource(name: str, measure: Measure, resource: str) -> Measure:
    words = words_of(resource)

    def said(text: str) -> str:
        text = text.format(resource=words)
        return text[:1].upper() + text[1:]

    step = measure.step
    # whoever does not respect requests may put a further resource where there is none of it
    bound = measure.bound if resource in RESOURCES else measure.bound and "requests"
    return dataclasses.replace(
        measure,
        name=f"{resource}_{name}",
        bound=bound,
        title=said(measure.title),
        meaning=measure.meaning.format(resource=words),
        formula=measure.formula.format(resource=words),
        short=measure.short.format(resource=_HEADS.get(resource, resource)),
        step=step
        and dataclasses.replace(step, column=f"{resource}_{step.column}", drawn=said(step.drawn)),
    )


def is_share(column: str) -> bool:
    """Whether a column holds shares, by its name."""
    return column.endswith(_SHARES)


def part_column(name: str, part: str) -> str:
    """The column of a part of a measure, its unit last: ``cpu_max_low_fraction``."""
    for unit in _SHARES:
        if name.endswith(unit):
            return f"{name.removesuffix(unit)}_{part}{unit}"
    return f"{name}_{part}"
