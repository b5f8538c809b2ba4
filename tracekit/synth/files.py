"""Files beside the archives of a made-up trace: nodes, sizes, and the truth."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from tracekit.base.constants import INSTANCE_TYPES, STEP_MS, TRUTH
from tracekit.synth.node_usage import NodeBlock, NodePlan, block_rows
from tracekit.synth.room import Planted
from tracekit.synth.sizes import DOMAIN_NODES, RACK_NODES, RESOURCES, NodeShape
from tracekit.synth.table_file import Receipt, TableFile
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
    """The position of the ``at``-th node's sample among the rows of its group."""
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


# Tables of nodes and containers beside the archives, as a user could have them. They are files of
# the source ``folder``: ``nodes.csv`` and ``containers.csv``.

FOLDER = "sizes"
_LIMITS = ("cpu_limit_milli", "memory_limit_bytes")


def write_sizes(folder: Path, world: World) -> list[Receipt]:
    """Write both tables; no row of them is broken."""
    (folder / FOLDER).mkdir()
    tables = {"node": node_table(world), "container": container_table(world)}
    return [_write(folder / FOLDER, name, rows) for name, rows in tables.items()]


def _write(folder: Path, table: str, rows: pl.DataFrame) -> Receipt:
    path = folder / f"{table}s.csv"
    rows.write_csv(path)
    return Receipt(
        path=path,
        table=table,
        member=path.name,
        rows=rows.height,
        size_bytes=path.stat().st_size,
        defects=[],
    )


def node_table(world: World) -> pl.DataFrame:
    """Nodes: what they have, where they stand, what they cost."""
    sizes, at = world.node_sizes, np.arange(world.preset.nodes)
    kinds = [sizes.kinds[shape] for shape in sizes.shape]
    return pl.DataFrame(
        {
            "node": world.nodes.ids,
            **dict(zip(RESOURCES, sizes.capacity.T, strict=True)),
            "rack": [f"rack-{number}" for number in at // RACK_NODES],
            "domain": [f"domain-{number}" for number in at // DOMAIN_NODES],
            "platform": [kind.name for kind in kinds],
            "price_per_hour": [kind.price_per_hour for kind in kinds],
            **({} if world.planted is None else _special(kinds)),
        }
    )


def _special(kinds: Sequence[NodeShape]) -> dict[str, Sequence[object]]:
    """The columns of a cluster with room: the type that a node is sold as, GPUs, taints."""
    taints = [
        json.dumps([{"key": kind.taint, "value": "", "effect": "NoSchedule"}] if kind.taint else [])
        for kind in kinds
    ]
    return {
        INSTANCE_TYPES[0]: [kind.name for kind in kinds],
        "gpu": [kind.gpus for kind in kinds],
        "taints": taints,
    }


def container_table(world: World) -> pl.DataFrame:
    """Containers: their lives, where they ran, what they ask for and may use at most."""
    containers, sizes = world.containers, world.service_sizes
    return pl.DataFrame(
        {
            "container": containers.ids,
            "service": world.services.ids.gather(containers.service),
            "node": world.nodes.ids.gather(containers.node),
            "arrival_ms": containers.first_step * STEP_MS,
            **dict(zip(RESOURCES, sizes.request[containers.service].T, strict=True)),
            **dict(zip(_LIMITS, sizes.limit[containers.service].T, strict=False)),
            **({} if world.planted is None else _bound(world, world.planted)),
        }
    )


def _bound(world: World, planted: Planted) -> dict[str, Sequence[object]]:
    """What containers ask for that only special nodes have, and the taints that they tolerate.

    A container tolerates the taints of the node where it runs, and of its planted home.
    """
    kinds, shape = world.node_sizes.kinds, world.node_sizes.shape
    needed = planted.bound_to[world.containers.service]
    tolerated = [
        [
            {"key": taint, "operator": "Exists", "effect": "NoSchedule"}
            for taint in sorted({kinds[at].taint for at in places if at >= 0} - {""})
        ]
        for places in zip(
            needed.tolist(),
            shape[world.containers.node].tolist(),
            shape[planted.home].tolist(),
            strict=True,
        )
    ]
    return {
        "gpu": [kinds[at].gpus if at >= 0 else 0 for at in needed.tolist()],
        "tolerations": [json.dumps(one) if one else None for one in tolerated],
    }


_PIECES = ".pieces"


def write_truth(folder: Path, name: str, table: pl.DataFrame) -> None:
    """Write a table of the truth whole."""
    table.write_parquet(folder / TRUTH / f"{name}.parquet", statistics=False)


def write_rows(folder: Path, name: str, table: pl.DataFrame) -> None:
    """Write rows that other programs give as CSV."""
    table.write_csv(folder / TRUTH / f"{name}.csv")


def write_piece(folder: Path, name: str, number: int, table: pl.DataFrame) -> None:
    """Write the piece of a table that belongs to archive ``number``."""
    pieces = folder / TRUTH / _PIECES / name
    pieces.mkdir(parents=True, exist_ok=True)
    table.write_parquet(pieces / f"{number:06d}.parquet", statistics=False)


def join_pieces(folder: Path) -> None:
    """Make one table of each table's pieces, in the order of the archives."""
    for pieces in sorted((folder / TRUTH / _PIECES).glob("*")):
        paths = sorted(pieces.iterdir())
        schema = pq.read_schema(paths[0])
        out = folder / TRUTH / f"{pieces.name}.parquet"
        with pq.ParquetWriter(out, schema, compression="zstd", write_statistics=False) as writer:
            for path in paths:
                writer.write_table(pq.read_table(path, schema=schema))
    shutil.rmtree(folder / TRUTH / _PIECES, ignore_errors=True)
