"""paper000: the size of the evaluation in the TBESK paper, made up because its tables are lost."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray
from tracekit.base.constants import PAPER_ALLOC_FRACTION, PAPER_CONTAINERS, PAPER_NODES
from tracekit.base.parameters import About
from tracekit.base.seeds import stream
from tracekit.base.units import BYTES_PER_GIB, MILLI_PER_CORE
from tracekit.cluster.declared import TargetAllocFraction
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.resources import rounded_down, rounded_up
from tracekit.cluster.workload import Workload

#: Columns of the tables, and what one of the paper's units is in each.
_UNITS = {
    "cpu_milli": MILLI_PER_CORE,
    "memory_bytes": BYTES_PER_GIB,
    "net_kbit_per_s": 1000,
    "disk_bytes": BYTES_PER_GIB,
}

#: Node types: cores, GiB, Mbit/s, GiB.
_NODES = np.array(
    [[32, 64, 1000, 1000], [48, 96, 2000, 1500], [64, 128, 2000, 2000], [64, 192, 1500, 3000]],
    dtype=np.float64,
)

#: Kinds of containers: what they ask for, over the mean, per resource.
_KINDS = {
    "compressible": (1.5, 0.5, 1.5, 0.5),
    "incompressible": (0.5, 1.5, 0.5, 1.5),
    "balanced": (1.0, 1.0, 1.0, 1.0),
}


@dataclass(frozen=True, kw_only=True)
class Paper000:
    """Nodes of four types and containers of three kinds; a container uses what it requests."""

    seed: Annotated[int, About("Which draw of nodes and containers.", minimum=0)] = 0
    nodes: Annotated[int, About("Number of nodes.", minimum=1, maximum=1e6)] = PAPER_NODES
    containers: Annotated[int, About("Number of containers.", minimum=1, maximum=1e7)] = (
        PAPER_CONTAINERS
    )
    target_alloc_fraction: TargetAllocFraction = PAPER_ALLOC_FRACTION

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def write(self, folder: Path) -> None:
        """Write the tables ``nodes`` and ``containers`` of a folder, drawn from ``seed``."""
        capacity, kinds, request = self._drawn(stream(self.seed, "paper000"))
        _table(
            "node", [f"node-{at:02}" for at in range(self.nodes)], rounded_down(capacity)
        ).write_parquet(folder / "nodes.parquet")
        names = [f"container-{at:04}" for at in range(self.containers)]
        _table("container", names, rounded_up(request)).with_columns(
            service=pl.Series(kinds, dtype=pl.String), arrival_ms=pl.lit(0, pl.Int64)
        ).write_parquet(folder / "containers.parquet")

    def _drawn(self, rng: np.random.Generator) -> tuple[FloatArray, list[str], FloatArray]:
        """Capacities, kinds of containers and requests, in the small units."""
        units = np.array([*_UNITS.values()], dtype=np.float64)
        capacity = _NODES[rng.integers(len(_NODES), size=self.nodes)] * units
        kinds = rng.choice(list(_KINDS), size=self.containers).tolist()
        mean = capacity.sum(axis=0) * self.target_alloc_fraction / self.containers
        factors = np.array([_KINDS[kind] for kind in kinds])
        return capacity, kinds, mean * factors * rng.uniform(0.5, 1.5, factors.shape)

    def labelled(self, load: Workload) -> Workload:
        """The workload of these tables with what it was drawn by, none of which is recorded."""
        drawn = ("node sizes", "requests", "use of containers", "arrivals")
        return dataclasses.replace(
            load,
            provenance=dataclasses.replace(
                load.provenance,
                quantities=dict.fromkeys(drawn, ASSUMED),
                assumptions={**load.provenance.assumptions, **dataclasses.asdict(self)},
            ),
        )


def _table(entity: str, names: list[str], amounts: FloatArray) -> pl.DataFrame:
    columns = {name: amounts[:, at].astype(np.int64) for at, name in enumerate(_UNITS)}
    return pl.DataFrame({entity: names, **columns})
