"""The planted decision as tables of the truth: spare nodes, right requests, new homes, money."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracekit.synth.room import Planted
from tracekit.synth.room.nodes import CEILING_CPU_FRACTION, CEILING_MEMORY_FRACTION
from tracekit.synth.sizes import CPU
from tracekit.synth.world import World

#: A request of so many times what is needed counts as over-stated.
OVER_STATED = 1.5


def decision_tables(world: World) -> Iterator[tuple[str, pl.DataFrame]]:
    """Names and tables; none where no decision is planted."""
    if world.planted is None:
        return
    yield "decision", _decision(world, world.planted)
    yield "decision_node", _nodes(world, world.planted)
    yield "decision_service", _services(world, world.planted)
    yield "decision_container", _containers(world, world.planted)


def _prices(world: World) -> np.ndarray:
    kinds = world.node_sizes.kinds
    return np.array([kind.price_per_hour for kind in kinds])[world.node_sizes.shape]


def _decision(world: World, planted: Planted) -> pl.DataFrame:
    """One row: how many nodes are enough with right requests, at which ceiling, what that saves."""
    prices = _prices(world)
    return pl.DataFrame(
        {
            "all_nodes": [world.preset.nodes],
            "enough_nodes": [int((~planted.spare).sum())],
            "special_nodes": [int(world.node_sizes.special.sum())],
            "ceiling_cpu_fraction": [CEILING_CPU_FRACTION],
            "ceiling_memory_fraction": [CEILING_MEMORY_FRACTION],
            "hourly_price": [float(prices.sum().round(4))],
            "hourly_saving": [float(prices[planted.spare].sum().round(4))],
        }
    )


def _nodes(world: World, planted: Planted) -> pl.DataFrame:
    kinds = [world.node_sizes.kinds[shape] for shape in world.node_sizes.shape]
    return pl.DataFrame(
        {
            "node_id": world.nodes.ids,
            "sold_as": [kind.name for kind in kinds],
            "hourly_price": _prices(world),
            "special": ["gpu" if kind.gpus else kind.taint or None for kind in kinds],
            "spare": planted.spare,
        }
    )


def _services(world: World, planted: Planted) -> pl.DataFrame:
    """Right requests are of CPU; those for memory are about right as they are."""
    asked = world.service_sizes.request[:, CPU] / 1000
    kinds = [None if at < 0 else world.node_sizes.kinds[at] for at in planted.bound_to]
    return pl.DataFrame(
        {
            "service_id": world.services.ids,
            "asked_cpu_cores": asked,
            "right_cpu_cores": planted.right_cpu_cores,
            "over_stated": asked > OVER_STATED * planted.right_cpu_cores,
            "bound_to": [("gpu" if kind.gpus else kind.taint) if kind else None for kind in kinds],
        }
    )


def _containers(world: World, planted: Planted) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "container_id": world.containers.ids,
            "home_node_id": world.nodes.ids.gather(planted.home),
        }
    )
