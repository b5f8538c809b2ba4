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
from tracekit.synth.room.placing import Placing, Spread
from tracekit.synth.room.requests import (
    bound_to,
    busy_minute,
    draw_nodes,
    draw_requests,
    spare_nodes,
)
from tracekit.synth.seeds import Seeds
from tracekit.synth.services import Services
from tracekit.synth.sizes import MEMORY, NodeSizes, ServiceSizes


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
