"""A cluster with room: nodes that can go, requests that are over-stated, prices, special nodes.

What is published of the trace says how busy nodes and containers are, and nothing of their sizes.
So the sizes are planted, and with them a decision that is there to be found:

*Nodes* are of two types that are sold. Small ones are busy, large ones less so. A few nodes are
special: some have a GPU, some a taint of their own.

*Requests* of CPU are over-stated: those of large containers fill the large nodes, and most others
ask for a multiple of what they need. They fill the nodes by request, and use little.

*Spare* nodes are small ones, so many that none of the others is above the ceiling once all that
runs is spread over these by use. The home that each container then has is planted too.
"""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.synth.presets import Preset
from tracekit.synth.room_requests import (
    CEILING_CPU_FRACTION,
    CEILING_MEMORY_FRACTION,
    IDLE_CONTAINERS,
    KINDS,
    LARGE,
    TAINTED,
    Nodes,
    Requests,
    bound_to,
    busy_minute,
    draw_nodes,
    draw_requests,
    spare_nodes,
)
from tracekit.synth.services import CPU, MEMORY, NodeSizes, Services, ServiceSizes
from tracekit.synth.shapes import Seeds

#: What containers use at least of an idle node, and how far memory swings above its mean.
LEAST_CPU, MEMORY_SWING = 0.02, 0.012


@dataclass(frozen=True)
class Spread:
    """Service and node of each container, int64, shape (containers,)."""

    service: IntArray
    node: IntArray


@dataclass(frozen=True)
class Placing:
    """Services of so many containers, their requests, the nodes, and who is bound to which kind."""

    containers: IntArray
    asked: Requests
    nodes: Nodes
    bound: IntArray

    def production(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Service and node of each container; the nodes are as busy as ``nodes.level`` says.

        Large containers are on large nodes and all others on small ones, and requests fit.
        """
        nodes, capacity = self.nodes, self.nodes.sizes.capacity
        others = nodes.of_kind([kind.others_cpu for kind in KINDS])
        used = np.maximum(nodes.level[:, CPU] - others, LEAST_CPU)
        kind = nodes.sizes.shape
        usual = np.bincount(kind, used) / np.bincount(kind)
        wanted = nodes.of_kind([one.containers for one in KINDS]) * used / usual[kind]
        most = np.where(
            nodes.idle, IDLE_CONTAINERS, nodes.of_kind([one.most_containers for one in KINDS])
        )
        left = np.column_stack([capacity, most, wanted, used * capacity[:, CPU]]).astype(np.float64)
        one = np.ones(len(self.containers))
        each = np.column_stack([self.asked.sizes.request, one, one, self.asked.used[:, CPU]])
        room = _Room(left=left, whole=left.copy(), each=each, firm=capacity.shape[1] + 1)
        order = np.lexsort((-self.containers, ~self.asked.big, self.bound < 0))
        allowed = self._allowed & (self.asked.big[:, None] == (kind == LARGE))
        found = room.spread(rng, self.containers, order, allowed)
        return found.service, found.node

    def without(self, rng: np.random.Generator, spare: BoolArray, others: FloatArray) -> Spread:
        """Homes by use on the nodes that stay; ``others`` is used beside containers, (nodes, 2).

        What is used beside containers on spare nodes goes to the others by what is free there.
        """
        capacity = self.nodes.sizes.capacity[:, : MEMORY + 1].astype(np.float64)
        free = np.where(spare[:, None], 0, (1 - others) * capacity)
        gone = (others * capacity)[spare].sum(axis=0)
        taken = others * capacity + gone * free / free.sum(axis=0)
        left = capacity * (CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION - MEMORY_SWING) - taken
        # memory has to fit and CPU is evened out: a byte left is as good as any number of them
        whole = np.stack([np.ones(len(capacity)), capacity[:, CPU]], axis=1)
        each = self.asked.used[:, [MEMORY, CPU]]
        room = _Room(left=left[:, [MEMORY, CPU]], whole=whole, each=each, firm=1)
        order = np.argsort(-self.asked.used[:, CPU], kind="stable")
        return room.spread(rng, self.containers, order, self._allowed & ~spare)

    @property
    def _allowed(self) -> BoolArray:
        """The nodes that each service can run on, shape (services, nodes)."""
        kind, bound = self.nodes.sizes.shape, self.bound[:, None]
        return np.asarray((bound == kind) | (bound < 0) & (kind != TAINTED))


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What is left on nodes of the whole, float64, shape (nodes, amounts); the first may not end.

    Parameters
    ----------
    each : float64, shape (services, amounts)
        What a container of a service takes.
    firm : int
        How many of the amounts may not be exceeded.
    """

    left: FloatArray
    whole: FloatArray
    each: FloatArray
    firm: int

    def spread(
        self, rng: np.random.Generator, containers: IntArray, order: IntArray, allowed: BoolArray
    ) -> Spread:
        """Place the services in this order, where most is left of what is scarcest there.

        No service is twice on a node as long as another one has room.
        """
        services, nodes = [], []
        for service in order:
            due, new = int(containers[service]), allowed[service].copy()
            while due:
                after = self.left - self.each[service]
                room = allowed[service] & (after[:, : self.firm] >= 0).all(axis=1)
                fits = next(some for some in (room & new, room, allowed[service]) if some.any())
                score = np.where(fits, (after / self.whole).min(axis=1), -np.inf)
                order_of_nodes = np.argsort(-score + 1e-9 * rng.random(len(score)), kind="stable")
                chosen = order_of_nodes[: min(due, int(fits.sum()))]
                self.left[chosen] -= self.each[service]
                new[chosen] = False
                services.append(np.full(len(chosen), service, dtype=np.int64))
                nodes.append(chosen.astype(np.int64))
                due -= len(chosen)
        return Spread(np.concatenate(services), np.concatenate(nodes))


@dataclass(frozen=True, kw_only=True)
class Planted:
    """The planted decision.

    Parameters
    ----------
    right_cpu_cores : float64, shape (services,)
        What a container of the service needs.
    bound_to : int64, shape (services,)
        The kind of the only nodes that a service can run on, -1 for any that has no taint.
    spare : bool, shape (nodes,)
        Nodes that can go together.
    home : int64, shape (containers,)
        The node of each container once they are gone.
    """

    right_cpu_cores: FloatArray
    bound_to: IntArray
    spare: BoolArray
    home: IntArray


@dataclass(frozen=True, kw_only=True)
class RoomyCluster:
    """Sizes of nodes and services, production's placement, the nodes' mean use, the decision.

    Parameters
    ----------
    service, node : int64, shape (containers,)
    level : float64, shape (nodes, 2)
        CPU and memory, as fractions.
    """

    node_sizes: NodeSizes
    service_sizes: ServiceSizes
    service: IntArray
    node: IntArray
    level: FloatArray
    planted: Planted


def make_room(
    preset: Preset, seeds: Seeds, services: Services, activity: FloatArray, cpu_signal: FloatArray
) -> RoomyCluster:
    """Draw the cluster; ``activity`` and ``cpu_signal`` as in ``tracekit.synth.world.World``."""
    nodes = draw_nodes(preset, seeds)
    bound = bound_to(services, nodes.sizes.shape)
    busy = busy_minute(activity, cpu_signal)
    asked = draw_requests(seeds, services, nodes, bound, busy)
    placing = Placing(services.sizes, asked, nodes, bound)
    service, node = placing.production(seeds.stream("room production"))
    used = np.zeros_like(nodes.level)
    np.add.at(used, node, asked.used[service])
    others = nodes.level - used / nodes.sizes.capacity[:, : MEMORY + 1]
    spare = spare_nodes(nodes)
    homes = placing.without(seeds.stream("room homes"), spare, others)
    return RoomyCluster(
        node_sizes=nodes.sizes,
        service_sizes=asked.sizes,
        service=service,
        node=node,
        level=nodes.level,
        planted=Planted(
            right_cpu_cores=asked.right_cpu_cores,
            bound_to=bound,
            spare=spare,
            home=_in_order_of(service, homes),
        ),
    )


def _in_order_of(service: IntArray, homes: Spread) -> IntArray:
    """The homes of containers that stand in another order of their services."""
    node = np.empty_like(homes.node)
    node[np.argsort(service, kind="stable")] = homes.node[np.argsort(homes.service, kind="stable")]
    return node
