"""Parts of a workload for formats: times, amounts, and facts on what a format cannot carry."""

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
    """When each container ends, (containers,); at the latest at the end of the record."""
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    return np.maximum(np.minimum(load.containers.departure_ms, end), load.containers.arrival_ms + 1)


def whole_cores(milli: IntArray) -> IntArray:
    """Millicores in whole cores, rounded up, at least one."""
    return np.maximum(-(-milli // MILLI_PER_CORE), 1)


def carried(load: Workload, *, rounded: bool, nodes: bool = True) -> Iterator[Fact]:
    """The fact on what is written of a workload, and the fact on rounded cores."""
    yield Fact(
        kind="exported",
        value=load.containers.count,
        unit="containers",
        because="workload" if nodes else "without_nodes",
        about={"of": load.nodes.count},
    )
    parts = int((load.containers.request[:, 0] % MILLI_PER_CORE > 0).sum())
    if rounded and parts:
        yield left_out("parts_of_cores", parts, "containers")


def lost(load: Workload, *names: str) -> Iterator[Fact]:
    """Facts on properties that a format cannot carry; ``names`` are keys of ``_HAVING``.

    A property that the workload lacks has no fact.
    """
    for name in names:
        count = int(np.count_nonzero(_HAVING[name](load)))
        if count:
            yield left_out(name, count, "nodes" if name in _OF_NODES else "containers")


def use_is_recorded(load: Workload) -> BoolArray:
    """Whether the CPU use of each container is recorded, shape (containers,)."""
    if load.use.recorded is not None:
        return np.asarray(
            load.use.recorded[0][load.use.columns_of(np.arange(load.containers.count))]
        )
    is_recorded = load.provenance.quantities.get("use of containers", ABSENT) not in {
        ABSENT,
        ASSUMED,
    }
    return np.full(load.containers.count, is_recorded)


def _marked(values: Any, holds: Callable[[Any], Any]) -> Any:
    """``holds(values)``; empty where there are no values."""
    return () if values is None else holds(values)


#: Labels of constraints that Kubernetes does not have.
_OWN_RULES = frozenset({"apart", "together", "NUMA cells", "rules on sharing"})


def _ruled(load: Workload, labels: frozenset[str] | None = None) -> BoolArray:
    none = np.zeros(load.containers.count, np.bool_)
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    about = (part.about for part in parts if labels is None or part.label in labels)
    return np.asarray(np.any([none, *about], axis=0))


def _away(load: Workload) -> IntArray:
    away = (load.nodes.losses, load.nodes.joins, load.nodes.leaves)
    gone = [one.node for one in away if one is not None]
    return np.bincount(np.concatenate(gone)) if gone else np.zeros(0, np.int64)


_OF_NODES = {"background", "zones", "prices", "away", "unequal", "memory_of_nodes", "nodes"}
_HAVING: Mapping[str, Callable[[Workload], Any]] = {
    "use": use_is_recorded,
    "use_over_time": use_is_recorded,
    "use_of_memory": use_is_recorded,
    "placement": lambda load: load.containers.recorded_node >= 0,
    "limits": lambda load: (load.containers.limit > 0).any(axis=1),
    "priority": lambda load: _marked(load.rules.priority, lambda one: one != 0),
    "gangs": lambda load: _marked(load.rules.gang, lambda one: one >= 0),
    "rules": _ruled,
    "own_rules": lambda load: _ruled(load, _OWN_RULES),
    "budgets": lambda load: _marked(load.rules.budgets, lambda one: one.of[:, 0] >= 0),
    "groups": lambda load: [one != UNKNOWN for one in load.containers.services],
    "departures": lambda load: load.containers.departure_ms <= load.use.times_ms[-1],
    "order_of_ends": lambda load: load.containers.departure_ms <= load.use.times_ms[-1],
    "further": lambda load: (load.containers.request[:, _further(load)] > 0).any(axis=1),
    "background": lambda load: load.use.background.any(axis=(0, 1)),
    "zones": lambda load: _marked(load.nodes.domains, lambda _: np.ones(load.nodes.count)),
    "prices": lambda load: _marked(load.nodes.price_per_hour, lambda one: one > 0),
    "away": _away,
    "unequal": lambda load: load.nodes.capacity[:, 0] != load.nodes.capacity[0, 0],
    "memory_of_nodes": lambda load: load.nodes.capacity[:, 1] > 0,
    "nodes": lambda load: np.ones(load.nodes.count),
}


def _further(load: Workload) -> list[int]:
    return [at for at, one in enumerate(load.resources) if one not in (*BASE, PODS)]
