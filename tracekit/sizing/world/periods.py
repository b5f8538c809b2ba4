"""Compiled code of the simulation: periods, the channels and rewards of cycles, and resizing."""

from typing import NamedTuple

import numpy as np

from tracekit.analysis.metrics.load import idle_share
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled

# Data of the compiled environment: the fixed world and the changing state.

#: The number of channels of a cycle's state.
CHANNELS = 20


class World(NamedTuple):
    """The arrays of a simulation that do not change. A period is one time step.

    Parameters
    ----------
    need : float64, shape (containers, periods, 2)
        Cores and GB.
    first_edge : int64, shape (containers + 1,)
        Edge e is a call to container i if ``first_edge[i] <= e < first_edge[i + 1]``.
    upstream : int64, shape (edges,)
        The calling container.
    calls : float64, shape (edges, periods)
    throughput : float64, shape (containers, periods)
        Calls.
    total : float64, shape (nodes, 2)
        Capacity in cores and GB.
    first_fit : bool, shape (nodes,)
        Nodes with placement by first fit; other nodes place by lowest debris.
    """

    need: FloatArray
    first_edge: IntArray
    upstream: IntArray
    calls: FloatArray
    throughput: FloatArray
    total: FloatArray
    first_fit: BoolArray


class State(NamedTuple):
    """The arrays of a simulation that change; shape (containers, ...) unless stated.

    Parameters
    ----------
    by_first_fit : bool
        Whether the container is placed on the nodes of first fit.
    node : int64
        The node of the container, -1 for none.
    limit : float64, shape (containers, 2)
    allocated : float64, shape (nodes, 2)
        The sum of limits on each node.
    began : int64
        The first period of the running cycle.
    cycles_unchanged : int64
        The number K of consecutive cycles with an unchanged limit.
    changed : bool
        Whether the limit changed at the last decision.
    overflowed : bool, shape (containers, 2)
        The resources in which the last cycle overflowed.
    served, share : float64, shape (containers, periods, 2)
        Served amounts, and served amounts over limits.
    node_share : float64, shape (nodes, periods, 2)
        Amounts served to the containers of a node over its capacity.
    limits : float64, shape (containers, periods, 2)
        The limit in each period.
    history : float64, shape (containers, channels, cycles)
        The channels of the last cycles, the newest cycle last.
    """

    by_first_fit: BoolArray
    node: IntArray
    limit: FloatArray
    allocated: FloatArray
    began: IntArray
    cycles_unchanged: IntArray
    changed: BoolArray
    overflowed: BoolArray
    served: FloatArray
    share: FloatArray
    node_share: FloatArray
    limits: FloatArray
    history: FloatArray


#: First channels of the container, after six of its upstreams, and of its node, after eight more.
UPSTREAM, OWN = 6, 14
#: The highest number of kept cycles in a state.
MOST_KEPT = 64.0
FLOOR_G, FLOOR_CONTAINER = 0.01, 1e-3


@compiled
def run_period(world: World, state: State, period: int) -> None:
    """Run one period, in which every container gets its need up to its limit."""
    state.node_share[:, period] = 0.0
    for at in range(len(state.limit)):
        for resource in range(2):
            need, limit = world.need[at, period, resource], state.limit[at, resource]
            served = min(need, limit)
            state.overflowed[at, resource] = need > limit
            state.served[at, period, resource] = served
            state.share[at, period, resource] = served / limit
            state.limits[at, period, resource] = limit
            state.node_share[state.node[at], period, resource] += served
    for node in range(len(world.total)):
        state.node_share[node, period, 0] /= world.total[node, 0]
        state.node_share[node, period, 1] /= world.total[node, 1]


@compiled
def run(world: World, state: State, start: int, stop: int, cycle: int, active: BoolArray) -> int:
    """Run periods to ``stop`` or the end of an active container's cycle; return the next period."""
    for period in range(start, stop):
        run_period(world, state, period)
        ended = False
        for at in range(len(active)):
            over = state.overflowed[at, 0] or state.overflowed[at, 1]
            ended |= active[at] and (over or period + 1 - state.began[at] >= cycle)
        if ended:
            return period + 1
    return stop


@compiled
def means_and_peaks(series: FloatArray, begin: int, end: int, out: FloatArray) -> None:
    """Write mean and peak of CPU, mean and peak of memory, and G, the mean of |CPU - memory|.

    The periods are ``begin`` to ``end``, exclusive.
    """
    out[:5] = 0.0
    for period in range(begin, end):
        cpu, memory = series[period, 0], series[period, 1]
        out[0] += cpu
        out[1] = max(out[1], cpu)
        out[2] += memory
        out[3] = max(out[3], memory)
        out[4] += abs(cpu - memory)
    span = max(end - begin, 1)
    out[0] /= span
    out[2] /= span
    out[4] /= span


@compiled
def upstream_use(
    world: World, state: State, at: int, begin: int, end: int, out: FloatArray
) -> None:
    """Write to ``out[:6]`` the ``means_and_peaks`` and throughput of a container's callers.

    The values are means over callers, weighted by their calls (eqs 5-8), and 0 without calls.
    """
    one = np.zeros(5)
    out[:UPSTREAM] = 0.0
    total = 0.0
    for edge in range(world.first_edge[at], world.first_edge[at + 1]):
        total += world.calls[edge, begin:end].sum()
    if total <= 0:
        return
    for edge in range(world.first_edge[at], world.first_edge[at + 1]):
        weight = world.calls[edge, begin:end].sum() / total
        if weight > 0:
            source = world.upstream[edge]
            means_and_peaks(state.share[source], begin, end, one)
            for value in range(5):
                out[value] += weight * one[value]
            out[5] += weight * world.throughput[source, begin:end].sum()


@compiled
def close_cycles(
    world: World, state: State, due: IntArray, now: int, largest: FloatArray, out: FloatArray
) -> None:
    """Write the state channels of the cycles that ended at ``now``, shape (due, channels)."""
    for k in range(len(due)):
        at = due[k]
        begin, row = state.began[at], out[k]
        upstream_use(world, state, at, begin, now, row)
        row[5] = np.log1p(row[5]) / 10.0
        means_and_peaks(state.share[at], begin, now, row[UPSTREAM:])
        row[11] = state.limit[at, 0] / largest[0]
        row[12] = state.limit[at, 1] / largest[1]
        row[13] = min(float(state.cycles_unchanged[at]), MOST_KEPT) / MOST_KEPT
        node = state.node[at]
        means_and_peaks(state.node_share[node], begin, now, row[OWN:])
        busy = min(row[OWN], 1.0) + min(row[OWN + 2], 1.0)
        row[19] = 1.0 - 0.5 * busy if now > begin else 0.0


@compiled
def rewards(
    state: State, due: IntArray, rows: FloatArray, given: FloatArray, out: FloatArray
) -> None:
    """Write each cycle's reward from its channels ``rows`` and the coefficients (eqs 11-13)."""
    for k in range(len(due)):
        at, row = due[k], rows[k]
        if state.overflowed[at, 0] or state.overflowed[at, 1]:
            out[k] = -given[3]
            continue
        use = given[4] * (row[6] + row[7] + row[8] + row[9])
        container = max(use / (given[5] * max(row[10], FLOOR_G)), FLOOR_CONTAINER)
        node = given[6] * row[18] + given[7] * row[19]
        cost = container if given[8] > 0 else 1.0 / container
        out[k] = (
            given[0]
            * np.log(given[1] * state.cycles_unchanged[at] + 1.0)
            / (cost + node + given[2])
        )


# Room on nodes, and changes of limits.

_idle_share = compiled(idle_share)

KEPT, RESIZED, MOVED, INFEASIBLE = range(4)
#: The tolerance of rounding for the room of a node.
SLACK = 1e-9


@compiled
def room_elsewhere(world: World, state: State, at: int, cores: float, gb: float) -> int:
    """Return the node with room for a size that the container's placement rule picks, else -1."""
    own, chosen, least = state.node[at], -1, np.inf
    for node in range(len(world.total)):
        if world.first_fit[node] != state.by_first_fit[at]:
            continue
        cpu, memory = state.allocated[node, 0] + cores, state.allocated[node, 1] + gb
        if node == own:
            cpu, memory = cpu - state.limit[at, 0], memory - state.limit[at, 1]
        if cpu > world.total[node, 0] + SLACK or memory > world.total[node, 1] + SLACK:
            continue
        if state.by_first_fit[at]:
            return node
        debris = 0.5 * (
            _idle_share(world.total[node, 0], cpu) + _idle_share(world.total[node, 1], memory)
        )
        if debris < least - 1e-12:
            chosen, least = node, debris
    return chosen


@compiled
def fits_in_place(world: World, state: State, at: int, cores: float, gb: float) -> bool:
    """Return whether the container's node has room for a size in place of its present limit."""
    node = state.node[at]
    if node < 0:
        return False
    cpu = state.allocated[node, 0] - state.limit[at, 0] + cores
    memory = state.allocated[node, 1] - state.limit[at, 1] + gb
    total = world.total[node]
    return bool(cpu <= total[0] + SLACK and memory <= total[1] + SLACK)


@compiled
def put(state: State, at: int, node: int, cores: float, gb: float) -> None:
    """Place a container on a node with a new limit, and release its old limit on its old node."""
    if state.node[at] >= 0:
        state.allocated[state.node[at], 0] -= state.limit[at, 0]
        state.allocated[state.node[at], 1] -= state.limit[at, 1]
    state.node[at] = node
    state.limit[at, 0], state.limit[at, 1] = cores, gb
    state.allocated[node, 0] += cores
    state.allocated[node, 1] += gb


@compiled
def resize(world: World, state: State, due: IntArray, wanted: FloatArray, out: IntArray) -> None:
    """Set wanted limits one by one, in place or on another node with room.

    ``out`` gets KEPT, RESIZED, MOVED or INFEASIBLE for each due container.
    """
    for k in range(len(due)):
        at, cores, gb = due[k], wanted[k, 0], wanted[k, 1]
        if cores == state.limit[at, 0] and gb == state.limit[at, 1]:
            out[k] = KEPT
            continue
        if fits_in_place(world, state, at, cores, gb):
            put(state, at, state.node[at], cores, gb)
            out[k] = RESIZED
            continue
        node = room_elsewhere(world, state, at, cores, gb)
        out[k] = INFEASIBLE if node < 0 else MOVED
        if node >= 0:
            put(state, at, node, cores, gb)


@compiled
def possible(world: World, state: State, due: IntArray, sizes: FloatArray, out: BoolArray) -> None:
    """Write which sizes each due container can have now, on its node or another.

    The present size is always possible.
    """
    for k in range(len(due)):
        at = due[k]
        for action in range(len(sizes)):
            cores, gb = sizes[action, 0], sizes[action, 1]
            own = cores == state.limit[at, 0] and gb == state.limit[at, 1]
            out[k, action] = (
                own
                or fits_in_place(world, state, at, cores, gb)
                or room_elsewhere(world, state, at, cores, gb) >= 0
            )
