"""The output folder of a made-up trace: archives, tables of nodes and containers, the truth."""

import json
import shutil
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from tracekit.base.constants import INSTANCE_TYPES, STEP_MS, SYNTH_MANIFEST, SYNTH_SCHEMA, TRUTH
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.durable import LOCK, locked, make_folder, put, sync_tree
from tracekit.base.files.places import check_no_link
from tracekit.base.opened import read_text
from tracekit.base.shown import Shown
from tracekit.synth import layout
from tracekit.synth.layout import Layout
from tracekit.synth.node_usage import NodeBlock, NodePlan, block_rows
from tracekit.synth.presets import Preset
from tracekit.synth.room import PlantedDecision
from tracekit.synth.services import DOMAIN_NODES, RACK_NODES, RESOURCES, NodeShape
from tracekit.synth.table_file import Receipt, TableFile, empty_folder
from tracekit.synth.world import World

#: The time of the first row of the Node file, as a share of the trace: the real one is at
#: 35,820,000 of 43,200,000 ms, and the rows after it begin at 0.
FIRST_ROW_PLACE = 0.829
#: The time of the planted stray row, in lengths of the trace.
STRAY_TIME_FACTOR = 10


def write_nodes(
    file: TableFile, world: World, plan: NodePlan, blocks: Iterator[NodeBlock]
) -> Iterator[NodeBlock]:
    """Write the rows of all nodes with the planted oddities; yield each block after its rows."""
    for number, block in enumerate(blocks):
        rows = block_rows(world, block)
        odd = {_place(block, at, step): "usage_above_one" for at, step in _above(plan, block)}
        if number == 0:
            first = _first_row(world, block, odd)
            file.add(rows.slice(first, 1))
            rows = pl.concat([rows.slice(0, first), rows.slice(first + 1)])
            odd = {at - (at > first): name for at, name in odd.items()}
        file.add(rows, odd_rows=odd)
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
    """A sample at an impossible time, with the node's means as values."""
    at = len(block.members) - 1
    return {
        "timestamp": STRAY_TIME_FACTOR * world.preset.horizon_ms + STEP_MS,
        "nodeid": world.nodes.ids[int(block.members[at])],
        "node_cpu_usage": float(block.cpu_fraction[at].mean()),
        "node_memory_usage": float(block.memory_fraction[at].mean()),
    }


#: The folder of ``nodes.csv`` and ``containers.csv``, files of the source ``folder``.
FOLDER = "sizes"
_LIMITS = ("cpu_limit_milli", "memory_limit_bytes")


def write_sizes(folder: Path, world: World) -> list[Receipt]:
    """Write the tables of nodes and containers, without broken rows."""
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
    """Return the table of nodes: capacity, rack and fault domain, price."""
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
    """Further columns of a cluster with room: the instance type, GPUs and taints of each node."""
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
    """Return the table of containers: service, node, arrival, requests and limits."""
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


def _bound(world: World, planted: PlantedDecision) -> dict[str, Sequence[object]]:
    """Further columns of a cluster with room: requested GPUs, and tolerations.

    A container tolerates the taints of its node and of its planted home.
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
    """Write a table of the truth as Parquet."""
    table.write_parquet(folder / TRUTH / f"{name}.parquet", statistics=False)


def write_rows(folder: Path, name: str, table: pl.DataFrame) -> None:
    """Write a table of the truth as CSV, as other programs print it."""
    table.write_csv(folder / TRUTH / f"{name}.csv")


def write_piece(folder: Path, name: str, number: int, table: pl.DataFrame) -> None:
    """Write the piece of a table of the truth that belongs to archive ``number``."""
    pieces = folder / TRUTH / _PIECES / name
    pieces.mkdir(parents=True, exist_ok=True)
    table.write_parquet(pieces / f"{number:06d}.parquet", statistics=False)


def join_pieces(folder: Path) -> None:
    """Join the pieces of each table of the truth, in the order of the archives."""
    for pieces in sorted((folder / TRUTH / _PIECES).glob("*")):
        paths = sorted(pieces.iterdir())
        schema = pq.read_schema(paths[0])
        out = folder / TRUTH / f"{pieces.name}.parquet"
        with pq.ParquetWriter(out, schema, compression="zstd", write_statistics=False) as writer:
            for path in paths:
                writer.write_table(pq.read_table(path, schema=schema))
    shutil.rmtree(folder / TRUTH / _PIECES, ignore_errors=True)


_PARTIAL = ".synth-partial"


@contextmanager
def staged(out: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Make a temporary folder for ``parts``, which move to ``out`` when all are complete.

    The old truth is removed first, and the new truth with its manifest moves last. So a folder with
    a manifest is complete.

    Raises
    ------
    TracekitError
        When ``out`` has files that are not of a made-up trace.
    """
    check_out(out)
    make_folder(out)
    partial = out / _PARTIAL
    with locked(out / LOCK, busy=f"{out} is being written"):
        check_no_link((partial, *(out / part for part in parts)))
        empty_folder(partial)
        try:
            yield partial
            order = [part for part in parts if part != TRUTH] + [TRUTH]
            for part in reversed(order):
                if (out / part).exists():
                    shutil.rmtree(out / part)
            for part in order:
                sync_tree(partial / part)
                put({partial / part: out / part}, out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def check_out(out: Path) -> None:
    """Raise TracekitError unless ``out`` is absent, empty, or an earlier made-up trace."""
    if out.exists() and not out.is_dir():
        raise TracekitError(f"{out} is a file, expected a folder", hint="name another folder")
    if not out.exists() or (out / _PARTIAL).exists() or _is_made_up(out):
        return
    entries = sorted(path.name for path in out.iterdir() if path.name != LOCK)
    if entries:
        shown = ", ".join(entries[:3]) + (", ..." if len(entries) > 3 else "")
        raise TracekitError(
            f"{out} is not empty and not a made-up trace; it holds {shown}",
            hint="name a new folder, or empty this one",
        )


def _is_made_up(out: Path) -> bool:
    try:
        manifest = json.loads(read_text(out / TRUTH / SYNTH_MANIFEST))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("schema") == SYNTH_SCHEMA


LAYOUTS = (layout.NODE, layout.CONTAINER, layout.RATE, layout.CALL)
_WORDS = {"node": layout.NODE, "resource": layout.CONTAINER, "rate": layout.RATE,
          "call": layout.CALL}  # fmt: skip
#: The name of the tables of nodes and containers in ``--tables``; the release does not have them.
SIZE = "size"


@dataclass(frozen=True)
class Selection:
    """The tables and the archives to write.

    Parameters
    ----------
    layouts : collection of Layout
    parts : container of int, optional
        Numbers of archives; None for all.
    sizes : bool
        Whether the tables of nodes and containers are written.
    """

    layouts: Collection[Layout] = LAYOUTS
    parts: Container[int] | None = None
    sizes: bool = True

    @property
    def whole(self) -> bool:
        """Whether all archives are written."""
        return self.parts is None and len(self.layouts) == len(LAYOUTS)

    def numbers(self, kind: Layout, files: int) -> list[int]:
        """Return the archives to write of a table with ``files`` archives.

        A table of a single archive is always written.
        """
        if kind not in self.layouts:
            return []
        every = self.parts is None or files == 1
        return [number for number in range(files) if every or number in (self.parts or ())]


def select(tables: Collection[str], parts: Container[int] | None) -> Selection:
    """Return the selection of these tables, and of the files with the numbers ``parts``.

    A table is named by its name, by the stem of its file, or by a word such as ``resource``, which
    may stand for several tables. No name selects all tables, None all files.

    Raises
    ------
    TracekitError
        For an unknown table.
    """
    by_name = dict(_WORDS)
    for kind in LAYOUTS:
        by_name |= {kind.table: kind, kind.stem.lower(): kind}
    named = [name.lower() for name in tables]
    for name in named:
        if name not in {*by_name, SIZE}:
            close = nearest(name, {*by_name, SIZE})
            raise TracekitError(
                f"no table '{name}'; tables: {', '.join([*_WORDS, SIZE])}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    chosen = [by_name[name] for name in named if name != SIZE]
    layouts = [kind for kind in LAYOUTS if not named or kind in chosen]
    return Selection(layouts, parts, sizes=not named or SIZE in named)


@dataclass(frozen=True, kw_only=True, repr=False)
class SynthSummary(Shown):
    """The files of a made-up trace.

    Parameters
    ----------
    rows : dict of str to int
        Rows of the files of each base table, broken rows included.
    defects : dict of str to int
        Planted defects by the right action of a reader.
    truth : Path
        The folder with the planted truth.
    """

    out: Path
    preset: str
    seed: int
    files: int
    rows: dict[str, int]
    defects: dict[str, int]
    size_bytes: int
    truth: Path


def summarise(out: Path, preset: str, seed: int, receipts: list[Receipt]) -> SynthSummary:
    """Return the sums of rows, defects and bytes over the receipts of all files."""
    rows: Counter[str] = Counter()
    defects: Counter[str] = Counter()
    for receipt in sorted(receipts, key=lambda receipt: receipt.path):
        rows[receipt.table] += receipt.rows
        defects.update(defect.action for defect in receipt.defects)
    return SynthSummary(
        out=out,
        preset=preset,
        seed=seed,
        files=len(receipts),
        rows=dict(sorted(rows.items())),
        defects=dict(sorted(defects.items())),
        size_bytes=sum(receipt.size_bytes for receipt in receipts),
        truth=out / TRUTH,
    )


def write_manifest(truth: Path, summary: SynthSummary, preset: Preset) -> None:
    """Write the manifest of a made-up trace into the folder of its truth."""
    document = {
        "schema": SYNTH_SCHEMA,
        "about": "made-up trace in the shape of CTM21; these tables hold what was planted in it",
        "preset": summary.preset,
        "seed": summary.seed,
        "title": preset.title,
        "horizon_ms": preset.horizon_ms,
        "files": summary.files,
        "rows": summary.rows,
        "defects": summary.defects,
        "size_bytes": summary.size_bytes,
    }
    (truth / SYNTH_MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
