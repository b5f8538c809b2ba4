"""What a workload has, for formats that carry part of it: times, amounts, and what is left out."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.facts import Fact
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.resources import BASE, PODS
from tracekit.cluster.workload import UNKNOWN, Workload
from tracekit.live.export._format import left_out
from tracekit.store.quantities import ABSENT


def ends_ms(load: Workload) -> IntArray:
    """When each container ends: at the end of the record where it departs later; (containers,)."""
    end = int(load.times_ms[-1]) + load.step_ms
    return np.maximum(np.minimum(load.departure_ms, end), load.arrival_ms + 1)


def whole_cores(milli: IntArray) -> IntArray:
    """Millicores in whole cores, rounded up, at least one."""
    return np.maximum(-(-milli // MILLI_PER_CORE), 1)


def carried(load: Workload, *, rounded: bool) -> Iterator[Fact]:
    """The fact of what is written of a workload, and that of fractions of cores."""
    yield Fact(
        kind="exported",
        value=load.containers,
        unit="containers",
        because="workload",
        about={"of": load.nodes},
    )
    parts = int((load.request[:, 0] % MILLI_PER_CORE > 0).sum())
    if rounded and parts:
        yield left_out("parts_of_cores", parts, "containers")


def lost(load: Workload, *names: str) -> Iterator[Fact]:
    """Facts of what the workload has and a format cannot carry; ``names`` are keys of ``_HAVING``.

    What the workload has not is not lost.
    """
    for name in names:
        count = int(np.count_nonzero(_HAVING[name](load)))
        if count:
            yield left_out(name, count, "nodes" if name in _OF_NODES else "containers")


def use_is_recorded(load: Workload) -> BoolArray:
    """Whether the CPU use of each container is of a record, shape (containers,)."""
    if load.use_recorded is not None:
        return np.asarray(load.use_recorded[0][load.columns_of(np.arange(load.containers))])
    known = load.quantities.get("use of containers", ABSENT) not in {ABSENT, ASSUMED}
    return np.full(load.containers, known)


def _known(values: Any, holds: Callable[[Any], Any]) -> Any:
    """Where something holds of values; nowhere where there are none."""
    return () if values is None else holds(values)


#: Labels of the constraints that no cluster has.
_OWN_RULES = frozenset({"apart", "together", "NUMA cells", "rules on sharing"})


def _ruled(load: Workload, labels: frozenset[str] | None = None) -> BoolArray:
    none = np.zeros(load.containers, np.bool_)
    parts = () if load.constraints is None else load.constraints.parts
    about = (part.about for part in parts if labels is None or part.label in labels)
    return np.asarray(np.any([none, *about], axis=0))


def _away(load: Workload) -> IntArray:
    away = (load.losses, load.joins, load.leaves)
    gone = [one.node for one in away if one is not None]
    return np.bincount(np.concatenate(gone)) if gone else np.zeros(0, np.int64)


_OF_NODES = {"background", "zones", "prices", "away", "unequal", "memory_of_nodes", "nodes"}
_HAVING: Mapping[str, Callable[[Workload], Any]] = {
    "use": use_is_recorded,
    "use_over_time": use_is_recorded,
    "use_of_memory": use_is_recorded,
    "placement": lambda load: load.recorded_node >= 0,
    "limits": lambda load: (load.limit > 0).any(axis=1),
    "priority": lambda load: _known(load.priority, lambda one: one != 0),
    "gangs": lambda load: _known(load.gang, lambda one: one >= 0),
    "rules": _ruled,
    "own_rules": lambda load: _ruled(load, _OWN_RULES),
    "budgets": lambda load: _known(load.budgets, lambda one: one.of[:, 0] >= 0),
    "groups": lambda load: [one != UNKNOWN for one in load.services],
    "departures": lambda load: load.departure_ms <= load.times_ms[-1],
    "order_of_ends": lambda load: load.departure_ms <= load.times_ms[-1],
    "further": lambda load: (load.request[:, _further(load)] > 0).any(axis=1),
    "background": lambda load: load.background.any(axis=(0, 1)),
    "zones": lambda load: _known(load.domains, lambda _: np.ones(load.nodes)),
    "prices": lambda load: _known(load.price_per_hour, lambda one: one > 0),
    "away": _away,
    "unequal": lambda load: load.capacity[:, 0] != load.capacity[0, 0],
    "memory_of_nodes": lambda load: load.capacity[:, 1] > 0,
    "nodes": lambda load: np.ones(load.nodes),
}


def _further(load: Workload) -> list[int]:
    return [at for at, one in enumerate(load.resources) if one not in (*BASE, PODS)]
