"""A workload that ``--workload`` names: its files become a store, which is replayed as any other.

It is written ``NAME[assumption=value,...]:PATH``, ``NAME:PATH``, ``NAME`` if it is made up, or as a
path. The store is kept under a key made of the files' paths, sizes and times of change.
``paper000`` is made up: it has the size of the TBESK paper's evaluation, whose tables are lost.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Annotated

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base import parameters, registry
from tracekit.base.arrays import FloatArray, stream
from tracekit.base.constants import PAPER_ALLOC_FRACTION, PAPER_CONTAINERS, PAPER_NODES
from tracekit.base.errors import TracekitError
from tracekit.base.folders import cache_folder
from tracekit.base.parameters import About
from tracekit.base.progress import SILENT, Progress
from tracekit.base.units import BYTES_PER_GIB, MILLI_PER_CORE, size
from tracekit.base.words import counted
from tracekit.cluster.declared import TargetAllocFraction
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.resources import rounded_down, rounded_up
from tracekit.cluster.workload import Workload
from tracekit.intake.read.discover import Discovery, discover
from tracekit.intake.sources import all_sources
from tracekit.store.broken_rows import broken_rows
from tracekit.store.folder import Store, is_store, open_store
from tracekit.store.stored_rows import STATED

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
    """The parameters of a made-up workload, whose containers use what they request."""

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
        """Return the workload marked as assumed, with these parameters among its assumptions."""
        drawn = ("node sizes", "requests", "use of containers", "arrivals")
        return dataclasses.replace(
            load,
            provenance=dataclasses.replace(
                load.provenance, quantities=dict.fromkeys(drawn, ASSUMED)
            ).plus(assumptions=dataclasses.asdict(self)),
        )


def _table(entity: str, names: list[str], amounts: FloatArray) -> pl.DataFrame:
    columns = {name: amounts[:, at].astype(np.int64) for at, name in enumerate(_UNITS)}
    return pl.DataFrame({entity: names, **columns})


#: The name of files of more than one source.
AUTO = "auto"
#: More than this is a trace, whose store is better kept where its user knows of it.
_MOST_BYTES = 1 << 30
#: A store that is not replayed for thirty days is removed.
_KEPT_S = 30 * 86_400
_SPELLED = re.compile(r"(?P<name>[a-z]\w*)(?P<given>\[[^\]]*\])?(?::(?P<path>.*))?")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A name that ``--workload`` accepts: what it stands for, and the assumptions of its replay.

    Parameters
    ----------
    title, source : str
        A description of the workload in one line, and its origin.
    files : str
        The files that the path must hold; empty for a workload that is made up.
    assumed : mapping of str to str
        Assumptions in which the replay of this workload differs from the replay of a store.
    """

    title: str
    source: str
    files: str = ""
    assumed: Mapping[str, str] = field(default_factory=dict)


NAMED = {
    "folder": Named(
        title="your own tables, as CSV or Parquet",
        source="written by the user; columns: docs/sources/folder.md",
        files="tables nodes, containers and usage",
    ),
    "openb": Named(
        title="openb: 8,152 pods with creation and deletion, 1,523 nodes",
        source="github.com/alibaba/clusterdata cluster-trace-gpu-v2023; Weng et al., USENIX ATC"
        " 2023",
        files="openb_node_list_*.csv and openb_pod_list_*.csv",
        assumed={
            "departures": "none",
            "resources": "cpu+memory",
            "selectors": "none",
            "step_ms": "10800000",
        },
    ),
    "paper000": Named(
        title="31 nodes, 1,800 containers, four resources: the size of paper 000",
        source="substitute for the lost tables 3 and 4 of Geng & Wang, C.S.A. 2023 32(4) 187-196;"
        " rule: tracekit's own",
        assumed={"order": "seeded"},
    ),
    "tianchi18": Named(
        title="Tianchi 2018 (B): 68,224 containers with demand curves, 6,000 nodes",
        source="Alibaba Tianchi scheduling contest 2018, preliminary round, data B",
        files="app_resources, instance_deploy, machine_resources and app_interference as CSVs or a"
        " zip",
    ),
}
#: Earlier names, and settings by what they are now.
_RENAMED = {"parquet": "folder"}
_SETTINGS = {
    "gpu=ignore": "resources=cpu+memory",
    "gpu=count": "resources=cpu+memory+gpu",
    "anti_affinity=keep": "groups=keep",
    "anti_affinity=none": "groups=none",
    "arrival=start": "arrival_span_ms=0",
    "containers=placed": "waiting=leave_out",
    "containers=all": "waiting=place",
}


@dataclass(frozen=True)
class Given:
    """A parsed text of ``--workload``: a source's name, settings, and the path of its files."""

    name: str
    settings: tuple[tuple[str, str], ...]
    path: Path | None

    @classmethod
    def of(cls, text: str) -> Given:
        """Return the parsed form of a text that ``spelled`` returned; no file is read."""
        match = _SPELLED.fullmatch(text)
        if match is None:
            return cls("", (), Path(text))
        _, given = parameters.split(match["name"] + (match["given"] or ""))
        return cls(
            match["name"], tuple(given.items()), Path(match["path"]) if match["path"] else None
        )

    def spelled(self, spell: Callable[[Path], str]) -> str:
        """Return the text ``NAME[settings]:PATH``, with the path as ``spell`` writes it."""
        settings = ",".join(f"{name}={value}" for name, value in self.settings)
        path = "" if self.path is None else f":{spell(self.path)}"
        return f"{self.name}{f'[{settings}]' if settings else ''}{path}"


@dataclass(frozen=True)
class Ingested:
    """The store of a workload, with the settings of its replay.

    ``drawn`` has the parameters of a made-up workload; it is None for a workload read from files.
    """

    store: Store
    assume: tuple[str, ...]
    drawn: Paper000 | None


def ingested(text: str, assume: Sequence[str] = (), progress: Progress = SILENT) -> Ingested:
    """Return the store of the workload that ``--workload`` names. Make the store if it is new.

    Raises
    ------
    TracekitError
        For an unknown name or parameter, a missing path, files that no source reads, and a
        broken row.
    """
    given = parse_workload(text)
    spelled = [f"{name}={value}" for name, value in given.settings]
    settings = settings_of(given.name, [*spelled, *assume])
    if given.path is not None:
        return Ingested(_store_of_files(given.name, given.path, progress), _texts(settings), None)
    own = {name: settings.pop(name) for name in parameters.names(Paper000) if name in settings}
    drawn: Paper000 = parameters.build(Paper000, "workload paper000", own)
    return Ingested(store_of_drawn(drawn), _texts(settings), drawn)


def settings_of(name: str, settings: Sequence[str] = ()) -> dict[str, str]:
    """Return the named workload's own assumptions, updated by ``name=value`` settings."""
    assumed = {**NAMED[name].assumed} if name in NAMED else {}
    for setting in settings:
        key, equals, value = _SETTINGS.get(setting.replace(" ", ""), setting).partition("=")
        if not equals:
            raise TracekitError(f"assumption '{setting}' is not name=value")
        assumed[key.strip()] = value.strip()
    return assumed


def _texts(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in settings.items())


def parse_workload(text: str) -> Given:
    """Return the workload that a text names.

    Raise TracekitError for an unknown name or a missing path.
    """
    match = _SPELLED.fullmatch(text)
    if match is None or Path(text).exists() or _is_path(match):
        return _at(Path(text), text)
    name = _RENAMED.get(match["name"], match["name"])
    registry.pick(_names(), name, "workload", listing="tracekit list workloads")
    _, given = parameters.split(f"{name}{match['given'] or ''}")
    files = NAMED[name].files if name in NAMED else "its files"
    if bool(match["path"]) != bool(files):
        raise TracekitError(
            f"workload '{text}': " + ("a path is missing" if files else "it takes no path"),
            hint=f"write {name}:PATH, PATH with {files}" if files else NAMED[name].title,
        )
    path = Path(match["path"]) if files else None
    if path is not None and not path.exists():
        raise TracekitError(f"no such file or folder: {path}", hint=f"PATH holds {files}")
    return Given(name, tuple(given.items()), path)


def resolved(text: str) -> str:
    """Return a text of ``--workload`` with its path made absolute."""
    return parse_workload(text).spelled(lambda path: str(path.resolve()))


@functools.cache
def _names() -> Mapping[str, str]:
    """Every name with its title."""
    sources = {name: one.title for name, one in all_sources().items()}
    return {AUTO: "", **sources, **{name: one.title for name, one in NAMED.items()}}


def _is_path(match: re.Match[str]) -> bool:
    """Whether a bare word is a path, because no workload has that name."""
    name = _RENAMED.get(match["name"], match["name"])
    return match["path"] is None and not match["given"] and name not in _names()


def _at(path: Path, text: str) -> Given:
    """The workload at a path, with the source that reads its files."""
    if not path.exists():
        raise TracekitError(
            f"no such workload: {text}", hint=f"give a path, or one of: {', '.join(NAMED)}"
        )
    sources = {one.match.source.name for one in _files(AUTO, path).files}
    return Given(sources.pop() if len(sources) == 1 else AUTO, (), path)


def _files(release: str, path: Path) -> Discovery:
    if is_store(path):
        raise TracekitError(
            f"'{path}' is a store, expected the files of a workload",
            hint=f"replay it without --workload: tracekit replay {quote(str(path))} --out RUN",
        )
    discovery = discover(path, release=release)
    if discovery.size_bytes > _MOST_BYTES:
        raise TracekitError(
            f"'{path}' holds {size(discovery.size_bytes)}, expected at most {size(_MOST_BYTES)}",
            hint=f"a trace goes into a store first: tracekit ingest {quote(str(path))} STORE",
        )
    return discovery


def _store_of_files(release: str, path: Path, progress: Progress) -> Store:
    """The store of the files at a path; its name is that of the source, or of the path."""
    parts = [VERSION, release]
    for one in _files(release, path).files:
        state = one.path.stat()
        parts.append(f"{one.path.resolve()} {state.st_size} {state.st_mtime_ns}")
    name = release if release in NAMED and release != "folder" else path.resolve().stem
    return _store_under(
        "\n".join(parts), name, lambda store: _ingest(path, store, release, progress)
    )


def store_of_drawn(drawn: Paper000) -> Store:
    """Return the store of a made-up workload. Make the store if the cache lacks it."""

    def make(store: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            drawn.write(Path(folder))
            _ingest(Path(folder), store, "folder")

    return _store_under(f"{VERSION} {drawn}", "paper000", make)


def _store_under(key: str, name: str, make: Callable[[Path], None]) -> Store:
    """The store under a key; if there is none, ``make`` writes it, whole or not at all."""
    rooms = cache_folder() / "workloads"
    room = rooms / hashlib.sha256(key.encode()).hexdigest()[:24]
    if room.exists():
        with contextlib.suppress(PermissionError):  # another user made it
            room.touch()
    else:
        rooms.mkdir(exist_ok=True)
        _forget(rooms)
        made = Path(tempfile.mkdtemp(prefix=".", dir=rooms))
        try:
            make(made / name)
            # another process may have made it meanwhile; its store is the same
            with contextlib.suppress(OSError):
                made.rename(room)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return open_store(room / name)


def _forget(rooms: Path) -> None:
    """Remove stores that were not replayed for long."""
    for room in rooms.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            if time.time() - room.stat().st_mtime > _KEPT_S:
                shutil.rmtree(room, ignore_errors=True)


def _ingest(path: Path, store: Path, release: str, progress: Progress = SILENT) -> None:
    """Ingest the files; raises TracekitError for a row that is broken."""
    from tracekit.intake.ingest import ingest  # noqa: PLC0415 - duckdb is slow to import

    progress.stage(f"ingest of {path}, which is kept for the next time", then="the workload")
    ingest(path, store, release=release, progress=progress)
    sources = open_store(store).manifest.sources
    # a broken node or container breaks the rows that name it
    broken = broken_rows([one for one in sources if one.table in STATED]) or broken_rows(sources)
    if broken:
        first = broken[0]
        column = f"column {first.about['column']}, " if first.about["column"] else ""
        raise TracekitError(
            f"{first.subject}: {counted(int(first.value or 0), 'broken row')}, the first in"
            f" {column}{first.about['example']}",
            hint=f"mend them, or replay what is good: tracekit ingest {quote(str(path))} STORE",
        )
