"""A cluster with room: spare nodes, over-stated requests, prices, and special nodes.

The publications on the trace describe the use of nodes and containers, but not their sizes. So the
sizes are planted, and with them a decision that a user should find:

*Nodes* have two instance types. Small nodes are busy, large ones less so. A few nodes are special:
some have a GPU, some a taint.

*Requests* for CPU are over-stated. The requests of large containers fill the large nodes, and most
other containers request a multiple of their need. The nodes are full by requests, and little used.

*Spare* nodes are small nodes. Without them, all containers can be placed by use so that no other
node exceeds the ceiling. The home of each container in that placement is planted too.
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

#: The least CPU of containers on a node, and the largest rise of memory above its mean.
LEAST_CPU, MEMORY_SWING = 0.02, 0.012


@dataclass(frozen=True)
class Spread:
    """A placement: the service and node of each container, int64, shape (containers,)."""

    service: IntArray
    node: IntArray


@dataclass(frozen=True)
class Placing:
    """What a placement starts from: services' containers and requests, the nodes, and bindings.

    ``bound`` is the kind of the only nodes that a service can run on, -1 for all untainted nodes.
    """

    containers: IntArray
    requests: Requests
    nodes: Nodes
    bound: IntArray

    def production(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the service and node of each container; nodes have the use ``nodes.level``.

        Large containers are on large nodes, all others on small nodes, and all requests fit.
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
        each = np.column_stack([self.requests.sizes.request, one, one, self.requests.used[:, CPU]])
        room = _Room(left=left, whole=left.copy(), each=each, firm=capacity.shape[1] + 1)
        order = np.lexsort((-self.containers, ~self.requests.big, self.bound < 0))
        allowed = self._allowed & (self.requests.big[:, None] == (kind == LARGE))
        placed = room.spread(rng, self.containers, order, allowed)
        return placed.service, placed.node

    def without(self, rng: np.random.Generator, spare: BoolArray, others: FloatArray) -> Spread:
        """Return a placement of the containers on the nodes that are not spare, by use.

        ``others``, shape (nodes, 2), is the CPU and memory that other processes use, as fractions.
        That of spare nodes moves to the other nodes, in proportion to their free capacity.
        """
        capacity = self.nodes.sizes.capacity[:, : MEMORY + 1].astype(np.float64)
        free = np.where(spare[:, None], 0, (1 - others) * capacity)
        gone = (others * capacity)[spare].sum(axis=0)
        taken = others * capacity + gone * free / free.sum(axis=0)
        left = capacity * (CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION - MEMORY_SWING) - taken
        # memory only has to fit, and CPU is spread evenly
        whole = np.stack([np.ones(len(capacity)), capacity[:, CPU]], axis=1)
        each = self.requests.used[:, [MEMORY, CPU]]
        room = _Room(left=left[:, [MEMORY, CPU]], whole=whole, each=each, firm=1)
        order = np.argsort(-self.requests.used[:, CPU], kind="stable")
        return room.spread(rng, self.containers, order, self._allowed & ~spare)

    @property
    def _allowed(self) -> BoolArray:
        """The nodes on which each service can run, shape (services, nodes)."""
        kind, bound = self.nodes.sizes.shape, self.bound[:, None]
        return np.asarray((bound == kind) | (bound < 0) & (kind != TAINTED))


@dataclass(frozen=True, kw_only=True)
class _Room:
    """The room on nodes while containers are placed.

    Parameters
    ----------
    left, whole : float64, shape (nodes, amounts)
        The amounts that are left, and the amounts of empty nodes.
    each : float64, shape (services, amounts)
        The amounts of a container of each service.
    firm : int
        The first ``firm`` amounts may not be exceeded.
    """

    left: FloatArray
    whole: FloatArray
    each: FloatArray
    firm: int

    def spread(
        self, rng: np.random.Generator, containers: IntArray, order: IntArray, allowed: BoolArray
    ) -> Spread:
        """Place the services in this order, each on the nodes whose scarcest amount is largest.

        No node gets two containers of a service while another node has room.
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
class PlantedDecision:
    """The right decision on a made-up cluster: nodes to remove, and requests that suffice.

    Parameters
    ----------
    right_cpu_cores : float64, shape (services,)
        The CPU that a container of the service needs.
    bound_to : int64, shape (services,)
        The kind of the only nodes on which a service can run, -1 for all nodes without a taint.
    spare : bool, shape (nodes,)
        The nodes that can all be removed together.
    home : int64, shape (containers,)
        The node of each container after the spare nodes are removed.
    """

    right_cpu_cores: FloatArray
    bound_to: IntArray
    spare: BoolArray
    home: IntArray


@dataclass(frozen=True, kw_only=True)
class RoomyCluster:
    """A cluster that has more nodes than it needs, with its placement in production.

    Parameters
    ----------
    service, node : int64, shape (containers,)
    level : float64, shape (nodes, 2)
        Mean use of CPU and memory, as fractions.
    """

    node_sizes: NodeSizes
    service_sizes: ServiceSizes
    service: IntArray
    node: IntArray
    level: FloatArray
    planted: PlantedDecision


def make_room(
    preset: Preset, seeds: Seeds, services: Services, activity: FloatArray, cpu_signal: FloatArray
) -> RoomyCluster:
    """Draw a cluster with spare nodes; arrays as in ``tracekit.synth.world.World``."""
    nodes = draw_nodes(preset, seeds)
    bound = bound_to(services, nodes.sizes.shape)
    busy = busy_minute(activity, cpu_signal)
    requests = draw_requests(seeds, services, nodes, bound, busy)
    placing = Placing(services.sizes, requests, nodes, bound)
    service, node = placing.production(seeds.stream("room production"))
    used = np.zeros_like(nodes.level)
    np.add.at(used, node, requests.used[service])
    others = nodes.level - used / nodes.sizes.capacity[:, : MEMORY + 1]
    spare = spare_nodes(nodes)
    homes = placing.without(seeds.stream("room homes"), spare, others)
    return RoomyCluster(
        node_sizes=nodes.sizes,
        service_sizes=requests.sizes,
        service=service,
        node=node,
        level=nodes.level,
        planted=PlantedDecision(
            right_cpu_cores=requests.right_cpu_cores,
            bound_to=bound,
            spare=spare,
            home=_in_order_of(service, homes),
        ),
    )


def _in_order_of(service: IntArray, homes: Spread) -> IntArray:
    """The homes in the order of production's containers; both have the same services."""
    node = np.empty_like(homes.node)
    node[np.argsort(service, kind="stable")] = homes.node[np.argsort(homes.service, kind="stable")]
    return node
