"""From a simulation set to the arrays of the compiled environment, with the study's nodes."""

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.words import counted
from tracekit.sizing.world.periods import CHANNELS, State, World
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simset import SimulationSet

#: Two specifications in turn, before scaling; the study's table 5 is lost, these are ours.
SPECIFICATIONS = ((48.0, 48.0), (32.0, 64.0))
#: Cycles a state looks back on.
CYCLES_SEEN = 8


def nodes_for(settings: Settings, containers: int) -> int:
    """How many nodes there are: as given, or one for every ``containers_per_node``."""
    # 225 containers are exactly 11 nodes, whatever the last digit of the quotient says
    asked = int(np.ceil(containers / settings.containers_per_node - 1e-9))
    return settings.nodes or asked


def build_world(part: SimulationSet, settings: Settings) -> World:
    """Nodes for the containers of ``part``, alternating in specification; and its calls.

    A container's throughput is the calls into it or out of it, whichever are more: the first
    container of a chain has no caller in the set.
    """
    count = nodes_for(settings, part.size)
    total = np.array([SPECIFICATIONS[n % 2] for n in range(count)]) * settings.node_scale
    order = np.argsort(part.edges[:, 1], kind="stable")
    ends = part.edges[order]
    first = np.searchsorted(ends[:, 1], np.arange(part.size + 1))
    calls = np.ascontiguousarray(part.calls[order])
    incoming, outgoing = np.zeros((2, part.size, part.periods))
    np.add.at(incoming, ends[:, 1], calls)
    np.add.at(outgoing, ends[:, 0], calls)
    return World(
        need=np.ascontiguousarray(part.need),
        first_edge=first.astype(np.int64),
        upstream=np.ascontiguousarray(ends[:, 0]),
        calls=calls,
        throughput=np.maximum(incoming, outgoing),
        total=total,
        first_fit=_first_fit_nodes(len(total)),
    )


def _first_fit_nodes(nodes: int) -> BoolArray:
    """Every other pair of nodes, so that both halves have both specifications; one node: FF."""
    return np.asarray(np.arange(nodes) // 2 % 2 == 0 if nodes > 2 else np.arange(nodes) == 0)


def fresh_state(world: World) -> State:
    """Nobody placed, nothing run; containers alternate between the halves of the nodes."""
    containers, periods = world.need.shape[:2]
    alternating = np.arange(containers) % 2 == 0
    halves = bool((~world.first_fit).any())
    return State(
        by_first_fit=alternating if halves else np.ones(containers, dtype=np.bool_),
        node=np.full(containers, -1, dtype=np.int64),
        limit=np.zeros((containers, 2)),
        allocated=np.zeros((len(world.total), 2)),
        began=np.zeros(containers, dtype=np.int64),
        kept=np.zeros(containers, dtype=np.int64),
        changed=np.zeros(containers, dtype=np.bool_),
        overflowed=np.zeros((containers, 2), dtype=np.bool_),
        served=_series(containers, periods),
        share=_series(containers, periods),
        node_share=_series(len(world.total), periods),
        limits=_series(containers, periods),
        history=np.zeros((containers, CHANNELS, CYCLES_SEEN)),
    )


def _series(rows: int, periods: int) -> FloatArray:
    return np.zeros((rows, periods, 2))


def check_room(world: World) -> None:
    """Raise TracekitError when the nodes cannot hold every container at the smallest size."""
    room = int(np.floor(world.total.min(axis=1)).sum())
    if len(world.need) > room:
        raise TracekitError(
            f"{counted(len(world.need), 'container')} of the smallest size need more than"
            f" {len(world.total)}"
            f" nodes, which hold {room}",
            hint="set more nodes: --assume nodes=N, or fewer --assume containers_per_node=N",
        )
