"""What every source makes of real files: rows, rejects, time, memory, placements that are known.

``make bench-sources`` takes the folders of real rows that lie beside the project, in
``../shared/data``, into a store each, one process per ingest, prints what went in, and replays
those whose placements are known. It exits with 1 where a number differs. A folder that is not
there is left out by name.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import polars as pl
from bench_measure import measure
from machine import machine

from tracekit.cluster.source import source_of
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds import linear_bound
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.runs.run import replay
from tracekit.store.folder import Store, open_store

TRACEKIT = str(Path(sys.executable).with_name("tracekit"))
DATA = Path(__file__).parents[2] / "shared" / "data"
MIB = 1 << 20

#: Folders to take in whole, or some files of them; a problem of Huawei's is two files.
SOURCES: dict[str, tuple[str, ...]] = {
    "alibaba17": (),
    "alibaba18": (),
    "azure_v1_arrivals": ("v1.dev.txt", "flav_map.txt"),
    "azure_vm17": (),
    "bitbrains": (),
    "google11": (),
    "huawei_topology25 C1": ("pm_res.csv", "vm_data_c1.csv"),
    "huawei_topology25 C2": ("pm_res.csv", "vm_data_c2.csv"),
    "huawei_topology25 C3": ("pm_res.csv", "vm_data_c3.csv"),
    "opendc": (),
    "openb": (),
    "pai20": (),
    "prometheus": (),
    "simkube": (),
    "spotgpu26": (),
    "swf": (),
    "tianchi18": (),
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """A placement that is known: containers that are left, nodes that are used."""

    source: str
    policy: str
    assume: tuple[str, ...]
    left: int
    nodes: int | None = None


#: Huawei: counted by a script of the people who asked for it; openb: by today's loader and by both.
_STUDY = ("departures=none", "resources=cpu+memory")
KNOWN = [
    *(
        Known(
            source=f"huawei_topology25 C{at}", policy="first_fit", assume=("groups=none",), left=0
        )
        for at in (1, 2, 3)
    ),
    *(
        Known(
            source=f"huawei_topology25 C{at}",
            policy="best_fit_cell",
            assume=("groups=none",),
            left=left,
        )
        for at, left in ((1, 5), (2, 0), (3, 64))
    ),
    Known(source="openb", policy="first_fit", assume=_STUDY, left=0, nodes=1077),
    Known(source="openb", policy="best_fit", assume=_STUDY, left=0, nodes=1163),
]

#: Fewest nodes: by what is requested in all, and by what is requested at once.
LOWER_BOUNDS = {"tianchi18": (2951, 2229)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Take in what is asked for, replay what is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", help="names of sources, with commas between")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",") if given.only else list(SOURCES)
    print(machine())
    titles = ("MiB", "rows", "rejected", "twice", "s", "CPU s", "peak MiB")
    widths = (8, 13, 10, 8, 8, 8, 10)
    heads = "".join(f"{title:>{width}}" for title, width in zip(titles, widths, strict=True))
    print(f"{'source':22}{heads}")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="bench-sources-") as work:
        for name in wanted:
            files = _files(given.data / name.split()[0], SOURCES[name])
            if not files:
                print(f"{name:22} not there: {given.data / name.split()[0]}")
                continue
            try:
                store = _taken(name, files, Path(work))
            except RuntimeError as error:
                print(f"{name:22} FAILED: {error}", flush=True)
                wrong += 1
                continue
            wrong += sum(_differs(known, store) for known in KNOWN if known.source == name)
            wrong += name in LOWER_BOUNDS and _bounds_differ(LOWER_BOUNDS[name], store)
    return 1 if wrong else 0


def _files(folder: Path, names: Sequence[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    return [folder / name for name in names] or [folder]


def _taken(name: str, files: Sequence[Path], work: Path) -> Store:
    """Take the files in, in a process of its own; print what went in."""
    source = work / name.replace(" ", "_")
    source.mkdir()
    for file in files:
        (source / file.name).symlink_to(file)
    store = work / f"{source.name}.store"
    took = measure([TRACEKIT, "ingest", str(source), str(store)])
    made = open_store(store)
    entries = [entry for entry in made.manifest.sources if entry.release != "derived"]
    size = sum({entry.file: entry.size_bytes for entry in entries}.values())
    rows, rejected, twice = (
        sum(getattr(entry, what) for entry in entries)
        for what in ("rows", "rejected", "duplicates_dropped")
    )
    print(
        f"{name:22}{size / MIB:>8.1f}{rows:>13,}{rejected:>10,}{twice:>8,}"
        f"{took.wall_s:>8.1f}{took.cpu_s:>8.1f}{took.memory_bytes / MIB:>10.0f}",
        flush=True,
    )
    return made


def _differs(known: Known, store: Store) -> bool:
    load = source_of(store, None, assume=known.assume).load()
    run = replay(load, [parse_policy(known.policy)], seed=0)
    placed = run.placements.filter(pl.col("policy") == known.policy)
    left = placed.filter(pl.col("outcome") == "pending").height
    nodes = placed["node"].drop_nulls().n_unique()
    wrong = left != known.left or (known.nodes is not None and nodes != known.nodes)
    print(
        f"  {known.policy}: {placed.height - left:,} of {placed.height:,} placed on {nodes:,} nodes"
        + (f"; DIFFERS: {known.left} left, {known.nodes} nodes expected" if wrong else ""),
        flush=True,
    )
    return wrong


def _bounds_differ(known: tuple[int, int], store: Store) -> bool:
    load = source_of(store, None).load()
    bounds = linear_bound(load.containers.request, load.nodes.capacity), demand_bound(load)
    print(f"  lower bounds {bounds}" + (f"; DIFFER: {known} expected" if bounds != known else ""))
    return bounds != known


if __name__ == "__main__":
    raise SystemExit(main())
