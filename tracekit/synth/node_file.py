"""Writing the Node file: a stray row first, blocks of nodes, one time far outside the trace."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tracekit.synth.node_usage import NodeBlock, NodePlan, block_rows
from tracekit.synth.presets import STEP_MS
from tracekit.synth.table_file import TableFile
from tracekit.synth.world import World

#: The first real row stands at 35,820,000 ms of 43,200,000, all others of the head near 0.
FIRST_ROW_PLACE = 0.829
#: The planted time that no other row is near to, in lengths of the trace.
STRAY_TIME_FACTOR = 10


def write_nodes(
    file: TableFile, world: World, plan: NodePlan, blocks: Iterator[NodeBlock]
) -> Iterator[NodeBlock]:
    """Write the rows of all nodes, and hand each group on."""
    for number, block in enumerate(blocks):
        rows = block_rows(world, block)
        odd = {_place(block, at, step): "usage_above_one" for at, step in _above(plan, block)}
        if number == 0:
            first = _first_row(world, block, odd)
            file.add(rows.slice(first, 1))
            rows = pl.concat([rows.slice(0, first), rows.slice(first + 1)])
            odd = {at - (at > first): name for at, name in odd.items()}
        file.add(rows, kept=odd)
        if number == 0:
            file.add_odd(_stray_row(world, block), "stray_time", "kept")
        yield block


def _above(plan: NodePlan, block: NodeBlock) -> list[tuple[int, int]]:
    steps = plan.above_one_step[block.members].tolist()
    return [(at, step) for at, step in enumerate(steps) if step >= 0]


def _place(block: NodeBlock, at: int, step: int) -> int:
    """Where the sample of the ``at``-th node of a group stands among its rows."""
    return step * len(block.members) + at


def _first_row(world: World, block: NodeBlock, taken: dict[int, str]) -> int:
    place = _place(block, 0, int(FIRST_ROW_PLACE * world.preset.steps))
    return next(row for row in range(place, place + len(taken) + 1) if row not in taken)


def _stray_row(world: World, block: NodeBlock) -> dict[str, object]:
    """A sample at an impossible time.

    Its values are the node's means, so it moves neither them nor the correlation.
    """
    at = len(block.members) - 1
    return {
        "timestamp": STRAY_TIME_FACTOR * world.preset.horizon_ms + STEP_MS,
        "nodeid": world.nodes.ids[int(block.members[at])],
        "node_cpu_usage": float(block.cpu_fraction[at].mean()),
        "node_memory_usage": float(block.memory_fraction[at].mean()),
    }
