"""Tables of nodes and containers beside the archives, as a user could have them.

They are files of the source ``folder``: ``nodes.csv`` and ``containers.csv``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tracekit.synth.presets import STEP_MS
from tracekit.synth.sizes import (
    CPU,
    DOMAIN_NODES,
    MEMORY,
    NODE_SHAPES,
    PRICE_PER_CORE_HOUR,
    PRICE_PER_GIB_HOUR,
    RACK_NODES,
    RESOURCES,
)
from tracekit.synth.table_file import Receipt
from tracekit.synth.world import World
from tracekit.units import BYTES_PER_GIB

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
    cores, memory_gib = sizes.capacity[:, CPU] / 1000, sizes.capacity[:, MEMORY] / BYTES_PER_GIB
    price = cores * PRICE_PER_CORE_HOUR + memory_gib * PRICE_PER_GIB_HOUR
    return pl.DataFrame(
        {
            "node": world.nodes.ids,
            **dict(zip(RESOURCES, sizes.capacity.T, strict=True)),
            "rack": [f"rack-{number}" for number in at // RACK_NODES],
            "domain": [f"domain-{number}" for number in at // DOMAIN_NODES],
            "platform": [NODE_SHAPES[shape].name for shape in sizes.shape],
            "price_per_hour": price.round(4),
        }
    )


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
        }
    )
