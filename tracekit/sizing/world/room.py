"""Room on nodes, compiled: which sizes fit where, and setting them."""

import numpy as np

from tracekit.analysis.metrics.load import idle_share
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.sizing.world.kernels import State, World

_idle_share = compiled(idle_share)

KEPT, RESIZED, MOVED, INFEASIBLE = range(4)
#: Room that rounding may eat of a node.
SLACK = 1e-9


@compiled
def room_elsewhere(world: World, state: State, at: int, cores: float, gb: float) -> int:
    """The node the container's placement policy takes for that size, -1 for none."""
    own, found, least = state.node[at], -1, np.inf
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
            found, least = node, debris
    return found


@compiled
def fits_in_place(world: World, state: State, at: int, cores: float, gb: float) -> bool:
    """Whether the container's node has room for the size in place of its present one."""
    node = state.node[at]
    if node < 0:
        return False
    cpu = state.allocated[node, 0] - state.limit[at, 0] + cores
    memory = state.allocated[node, 1] - state.limit[at, 1] + gb
    total = world.total[node]
    return bool(cpu <= total[0] + SLACK and memory <= total[1] + SLACK)


@compiled
def put(state: State, at: int, node: int, cores: float, gb: float) -> None:
    """Book a size on a node, and its old size off its old one."""
    if state.node[at] >= 0:
        state.allocated[state.node[at], 0] -= state.limit[at, 0]
        state.allocated[state.node[at], 1] -= state.limit[at, 1]
    state.node[at] = node
    state.limit[at, 0], state.limit[at, 1] = cores, gb
    state.allocated[node, 0] += cores
    state.allocated[node, 1] += gb


@compiled
def resize(world: World, state: State, due: IntArray, wanted: FloatArray, out: IntArray) -> None:
    """Set limits one after another: in place, else on another node, else the old ones stay."""
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
    """Which sizes each container could have now, in place or elsewhere; its own always."""
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
