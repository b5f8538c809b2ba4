"""Gangs, and other orders of arrival: a gang's containers are admitted together or not at all.

A gang comes from the source of a workload. With ``--gang`` the containers of a service that were
there from the start are a gang as well: they arrive together, at the earliest of their times. No
member runs before there is room for as many as the gang needs, by default all of them. Source of
the rule: scheduler-plugins 903da7df pkg/coscheduling (PodGroup with minMember); here the permit
phase takes no time, since nothing happens between two members of a gang.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.provenance import SizeDoubt
from tracekit.cluster.workload import UNKNOWN, Workload


def with_gangs(load: Workload) -> Workload:
    """Return the workload with a gang for each service that has several exchangeable containers.

    Such containers may swap their assumed times of arrival. A gang runs as a whole or not at all. A
    workload that has gangs is returned unchanged. A container of an unknown service has no gang.

    Raises
    ------
    TracekitError
        When no service has several such containers.
    """
    if load.rules.gang is not None:
        return load
    has_service = np.array(load.containers.services) != UNKNOWN
    _, service = np.unique(np.array(load.containers.services), return_inverse=True)
    free = has_service & (
        False if load.containers.exchangeable is None else load.containers.exchangeable
    )
    members = np.bincount(service[free], minlength=int(service.max(initial=0)) + 1)
    gang = np.where(free & (members[service] > 1), service, -1)
    if not (gang >= 0).any():
        why = (
            "has no service with several containers that were there from the start, stay for the"
            " span of arrivals and are placed anew"
        )
        raise TracekitError(
            f"workload '{load.name}' {why if has_service.any() else 'states no service'}:"
            " --gang has nothing to make gangs of",
            hint="leave --gang out; gangs that the source records are held without it",
        )
    arrival, order = _gathered(load.containers.arrival_ms, gang)
    return in_order_of(
        dataclasses.replace(load, rules=dataclasses.replace(load.rules, gang=gang)), order, arrival
    )


def enough_of(load: Workload, members: IntArray) -> int:
    """Return the number of a gang's members that must run at once for any of them to run.

    It is the number that the gang states, or else the most members that exist at one time. A gang
    whose members replace one another is thus not expected to run with all of them at once.
    """
    stated = 0 if load.rules.gang_minimum is None else int(load.rules.gang_minimum[members[0]])
    return stated or most_together(
        load.containers.arrival_ms[members], load.containers.departure_ms[members]
    )


def most_together(arrival_ms: IntArray, departure_ms: IntArray) -> int:
    """Return the largest number of these containers that exist at one time."""
    arrival, departure = np.sort(arrival_ms), np.sort(departure_ms)
    # who departs as another arrives was there before it
    gone = np.searchsorted(departure, arrival, side="right")
    return int((np.arange(1, len(arrival) + 1) - gone).max(initial=0))


def redrawn(load: Workload, order: IntArray, arrival_ms: IntArray) -> Workload:
    """Return the workload in another order of arrival, with new times of arrival.

    If a gang arrived at one time, it still does, at the earliest of its members' new times.

    Parameters
    ----------
    order : int64, shape (containers,)
        Positions of the containers in the new order.
    arrival_ms : int64, shape (containers,)
        The new time of each container, in the order that the workload has now.
    """
    again = in_order_of(load, order, arrival_ms)
    if again.rules.gang is None or load.rules.gang is None:
        return again
    split = spread_gangs(load.rules.gang, load.containers.arrival_ms)
    gathered = np.where(np.isin(again.rules.gang, split), -1, again.rules.gang)
    arrival, order = _gathered(again.containers.arrival_ms, gathered)
    return in_order_of(again, order, arrival)


def spread_gangs(gang: IntArray, arrival_ms: IntArray) -> IntArray:
    """Return the gangs whose members do not all arrive at one time, ascending."""
    members = np.flatnonzero(gang >= 0)
    pairs = np.unique(np.stack([gang[members], arrival_ms[members]], axis=1), axis=0)
    gangs, times = np.unique(pairs[:, 0], return_counts=True)
    return np.asarray(gangs[times > 1])


def _gathered(arrival_ms: IntArray, gang: IntArray) -> tuple[IntArray, IntArray]:
    """Times of arrival with each gang at its earliest, and the order with gangs in one piece."""
    first = np.full(int(gang.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    members = np.flatnonzero(gang >= 0)
    np.minimum.at(first, gang[members], arrival_ms[members])
    arrival = arrival_ms.copy()
    arrival[members] = first[gang[members]]
    return arrival, np.lexsort((np.arange(len(gang)), gang, arrival))


def in_order_of(
    load: Workload,
    order: IntArray,
    arrival_ms: IntArray,
    container_ids: tuple[str, ...] | None = None,
) -> Workload:
    """Return the workload with its containers in another order; the matrix of usage stays as it is.

    Parameters
    ----------
    order : int64, shape (positions,)
        Positions of containers; a position may be missing, or occur several times if
        ``container_ids`` names the copies.
    arrival_ms : int64, shape (containers,)
        New times of arrival, in the order that the workload has now.
    """
    containers, use, rules, provenance = load.containers, load.use, load.rules, load.provenance
    taken = _taken(containers, order, *(one.name for one in dataclasses.fields(containers)))
    return dataclasses.replace(
        load,
        containers=dataclasses.replace(
            taken, ids=container_ids or taken.ids, arrival_ms=arrival_ms[order]
        ),
        use=dataclasses.replace(use, column=order if use.column is None else use.column[order]),
        rules=dataclasses.replace(
            _taken(rules, order, *_OF_CONTAINERS),
            calls=None if rules.calls is None else _taken(rules.calls, order, "kind"),
        ),
        provenance=dataclasses.replace(
            provenance,
            doubt=None if provenance.doubt is None else _taken(provenance.doubt, order, "group"),
        ),
    )


#: Rules with an entry per container.
_OF_CONTAINERS = (
    *("constraints", "gang", "gang_minimum", "pinned", "daemon", "priority", "budgets"),
    *("written", "evicts_nobody", "never_evicted"),
)


def _taken(part: Any, order: IntArray, *names: str) -> Any:
    """A part of the workload with these fields taken at these positions of containers."""
    return dataclasses.replace(part, **{name: _at(getattr(part, name), order) for name in names})


def _at(value: Any, order: IntArray) -> Any:
    if value is None or isinstance(value, np.ndarray):
        return value if value is None else value[order]
    return tuple(value[at] for at in order) if isinstance(value, tuple) else value.taken(order)


def runs(gang: IntArray) -> list[tuple[int, int]]:
    """Return each run of equal values in ``gang`` as its first position, and one past its last."""
    cuts = np.flatnonzero(np.diff(gang)) + 1
    edges = [0, *cuts.tolist(), len(gang)]
    return [(start, end) for start, end in itertools.pairwise(edges) if end > start]


def with_drawn_sizes(load: Workload, rng: np.random.Generator) -> Workload:
    """Return the workload with inferred sizes of containers drawn at random from their intervals.

    A workload without inferred sizes is returned unchanged. If recorded use is a fraction of the
    sizes, it is scaled with them. The background (use of nodes outside of containers) is then the
    measured use of each node less the new use of its containers.
    """
    doubt = load.provenance.doubt
    if doubt is None:
        return load
    before, after = doubt.size, doubt.drawn(rng)
    request, limit = load.containers.request.copy(), load.containers.limit.copy()
    nonzero = load.containers.nonzero_request.copy()
    for resource in range(2):
        amount = after[doubt.group, resource]
        has_size = ~np.isnan(amount)
        amounts = np.ceil(amount[has_size]).astype(np.int64)
        request[has_size, resource] = nonzero[has_size, resource] = amounts
        limit[has_size, resource] = np.ceil(amounts * doubt.limit_factor).astype(np.int64)
    made = dataclasses.replace(
        load,
        containers=dataclasses.replace(
            load.containers, request=request, nonzero_request=nonzero, limit=limit
        ),
        provenance=dataclasses.replace(
            load.provenance, doubt=dataclasses.replace(doubt, size=after)
        ),
    )
    if not doubt.of_use:
        return made
    factor = np.nan_to_num(after / before, nan=1.0)[doubt.group].T
    usage = _scaled(load, factor)
    background = load.use.background if doubt.node_use is None else _rest(load, usage, doubt)
    return dataclasses.replace(
        made, use=dataclasses.replace(made.use, values=usage, background=background)
    )


def _columns(load: Workload) -> np.ndarray:
    return np.arange(load.containers.count) if load.use.column is None else load.use.column


def _scaled(load: Workload, factor: FloatArray) -> Float32Array:
    """Use times each container's factor, (2, containers); containers of a column share it."""
    by_column = np.ones((2, load.use.values.shape[2]), dtype=np.float32)
    by_column[:, _columns(load)] = factor
    return np.asarray(load.use.values * by_column[:, None, :])


def _rest(load: Workload, usage: Float32Array, doubt: SizeDoubt) -> Float32Array:
    """The use of a node beyond its recorded containers, never below 0."""
    assert doubt.node_use is not None  # noqa: S101 - the caller looked
    rest = np.zeros_like(doubt.node_use)
    # a replica in a larger load shares its original's column, and only that one was measured
    columns, first = np.unique(_columns(load), return_index=True)
    node = load.containers.recorded_node[first]
    on_node = node >= 0
    columns, node = columns[on_node], node[on_node]
    for resource, series in enumerate(usage):
        for step, row in enumerate(series):
            used = np.nan_to_num(row[columns])
            own = np.bincount(node, used, load.nodes.count)
            rest[resource, step] = np.fmax(doubt.node_use[resource, step] - own, 0.0)
    return rest


def rearranged(load: Workload, rng: np.random.Generator) -> Workload:
    """Return the same workload with its containers in another order of arrival, drawn from ``rng``.

    Exchangeable containers swap times of arrival, containers that arrive at one time come in a new
    order, and gangs stay together. Nothing else changes: once all have arrived, every order makes
    the same demand on the cluster. Inferred sizes are drawn from their intervals, so that the
    spread over orders includes the uncertainty of sizes.

    Daemons keep their time and order, and come before other containers of the same time. Nothing is
    drawn for daemons, so that other containers come in the same order however many nodes there are.
    """
    daemons, others = np.flatnonzero(load.daemons), np.flatnonzero(~load.daemons)
    arrival = load.containers.arrival_ms.copy()
    if load.containers.exchangeable is not None:
        slots = others[load.containers.exchangeable[others]]
        arrival[rng.permutation(slots)] = load.containers.arrival_ms[slots]
    shuffle = np.concatenate([daemons, others[rng.permutation(len(others))]])
    order = shuffle[np.argsort(arrival[shuffle], kind="stable")]
    return with_drawn_sizes(redrawn(load, order, arrival), rng)
