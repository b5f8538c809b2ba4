"""A measure: how it is taken, its words, and which end is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from tracekit.base.arrays import IntArray
from tracekit.cluster.workload import Workload
from tracekit.policy.view.cluster import TakenOff
from tracekit.policy.view.sampled import Held, Sampled
from tracekit.policy.view.usage import OverTime

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


# Parts that measures of moves, of nodes in use and of containers without a node share.

#: Ends the formula of every measure over all nodes.
EMPTY = "; a node that is lost, or not yet there, counts as an empty one"
#: Why load that lies evenly is better.
EVEN = "load that is spread leaves every node the same room for a peak"
#: Who found no other node, of those that lost theirs: see ``engine.displaced``.
NOT_AGAIN = "did not run again before they departed or the replay ended"


def of_moves(*, column: str, **said: Any) -> Measure:
    """A count of moves over the whole run, the filling included, unless ``said`` otherwise."""
    about = {"during": "whole", "group": "answer", **said}
    return Measure(
        unit="moves",
        better="low",
        step=Step(column=column, whole=True),
        over_steps="sum",
        **about,
    )


def of_nodes_used(**said: Any) -> Measure:
    """A measure of the nodes that hold a container at a step."""
    return Measure(
        unit="nodes",
        better=None,
        step=Step(
            column="nodes_used",
            at=lambda sampled: (sampled.containers_but_daemons > 0).sum(axis=-1),
            whole=True,
            drawn="Nodes used [nodes]",
        ),
        falls=True,
        because="no policy is better for merely using fewer nodes: they save only where nodes can"
        " be switched off, and the load they hold is denser",
        **said,
    )
