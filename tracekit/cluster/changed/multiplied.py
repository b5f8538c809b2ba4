"""More load, or less: a workload whose number of containers is multiplied."""

import dataclasses
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, remark
from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.workload import Workload

#: What the first resources are called.
_NAMES = {"cpu_milli": "CPU", "memory_bytes": "memory"}


def scale_of(value: float) -> Fraction:
    """The exact fraction that a decimal text spells; raises TracekitError unless it is above 0."""
    if not 0 < value < float("inf"):
        raise TracekitError(
            f"--scale {value:g} is no number above 0", hint="for example --scale 1.3"
        )
    return Fraction(str(value))


def multiplied(load: Workload, scale: Fraction, rng: np.random.Generator) -> Workload:
    """The workload with ``scale`` times as many containers, of the sizes there are.

    Load grows by replicas and not by larger containers, as services do that scale out. The copied
    containers are drawn evenly over sizes. For this, containers are ordered by size, those of equal
    size by what they use, and equal ones in drawn order; counting starts at a drawn position, and
    of the first n containers about n * scale are made. So requests and use grow by nearly ``scale``
    in whatever order containers are listed, and the count of nodes depends little on the draw.

    A replica equals its original in requests, use over time, times, gang, rules and recorded node.
    It is pinned nowhere. Daemons belong to nodes and are not multiplied; the background stays as it
    is. The growth of requests and of use is a fact of the workload.
    """
    if scale == 1:
        return load
    use = _use(load)
    copies = _copies(load, use, scale, rng)
    order = np.repeat(np.arange(load.containers.count), copies)
    replica = np.arange(len(order)) - np.repeat(np.cumsum(copies) - copies, copies)
    gang = np.full(len(order), -1) if load.rules.gang is None else load.rules.gang[order]
    # replicas follow all that arrive at their time, but in gangs, which stay in one piece
    late = np.where(gang < 0, replica, 0)
    after = np.lexsort((np.arange(len(order)), late, load.containers.arrival_ms[order]))
    order, replica = order[after], replica[after]
    made = in_order_of(load, order, load.containers.arrival_ms, _names(load, order, replica))
    pinned = None if made.rules.pinned is None else np.where(replica > 0, -1, made.rules.pinned)
    return dataclasses.replace(
        made,
        rules=dataclasses.replace(made.rules, pinned=pinned),
        provenance=dataclasses.replace(
            made.provenance, remarks=(*load.provenance.remarks, *_grown(load, made, use, order))
        ),
    )


def _copies(load: Workload, use: FloatArray, scale: Fraction, rng: np.random.Generator) -> IntArray:
    """How many times each container is in the new workload, shape (containers,)."""
    copies = np.ones(load.containers.count, dtype=np.int64)
    free = (
        np.arange(load.containers.count)
        if load.rules.daemon is None
        else np.flatnonzero(~load.rules.daemon)
    )
    room = np.maximum(load.nodes.capacity.sum(axis=0, dtype=np.float64), 1.0)
    size = (load.containers.request[free] / room).max(axis=1)
    busy = (use[:, free] / room[:2, None]).max(axis=0)
    drawn = rng.permutation(len(free))
    counted = free[drawn[np.lexsort((busy[drawn], size[drawn]))]]
    # a beginning up to which the number of all stays floor(n * scale)
    rest = len(free) * scale.numerator % scale.denominator
    begin = int(rng.integers(scale.denominator - rest))
    steps = range(len(counted) + 1)
    whole = [(at * scale.numerator + begin) // scale.denominator for at in steps]
    copies[counted] = np.diff(np.array(whole, dtype=np.int64))
    return copies


def _grown(load: Workload, made: Workload, use: FloatArray, order: IntArray) -> Iterator[Fact]:
    """The new number of containers, and the factors by which requests and use grew."""
    yield remark("multiplied", made.containers.count, "containers", before=load.containers.count)
    before, after = (one.containers.request.sum(axis=0, dtype=np.float64) for one in (load, made))
    used, uses = use.sum(axis=1), use[:, order].sum(axis=1)
    for at, name in enumerate(load.resources):
        if before[at]:
            further = at >= len(used) or not used[at]
            yield remark(
                "multiplied_resource",
                float(after[at] / before[at]),
                resource=_NAMES.get(name, name),
                use_times=None if further else float(uses[at] / used[at]),
            )


def _use(load: Workload) -> FloatArray:
    """The use of CPU and memory of each container, summed over the steps, (2, containers)."""
    found = np.zeros((2, load.containers.count))
    for step in range(len(load.use.times_ms)):
        np.add(found, load.use.at(step), out=found, where=load.present(step)[None])
    return found


def mark_for(names: Iterable[str]) -> str:
    """The mark between name and number of a copy, chosen so that no original has that name."""
    mark, taken = "+", set(names)
    while any(mark in name for name in taken):
        mark += "+"
    return mark


def _names(load: Workload, order: IntArray, replica: IntArray) -> tuple[str, ...]:
    """Names of replicas, with a number that no container's own name has."""
    mark = mark_for(load.containers.ids)
    return tuple(
        load.containers.ids[at] if not number else f"{load.containers.ids[at]}{mark}{number}"
        for at, number in zip(order.tolist(), replica.tolist(), strict=True)
    )
