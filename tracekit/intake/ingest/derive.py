"""Derives fractions of use from amounts and sizes, so that analyses read all sources alike.

A source that records cores and bytes gets rows of two tables. A row of ``container_usage`` has the
container's use over its request; without a request over its limit; without either over the node's
capacity. A row of ``node_usage`` has the node's use over its capacity: from the node's own samples
if these are more than one moment, else from the sum of its containers. Every row has both CPU and
memory. If one of them is sampled less often, its last sample holds until the series counts as
silent (``base.constants``). The parts are called ``derived/DIGEST/TABLE``; the digest is of the
inputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.crew import Alone
from tracekit.base.facts import Fact
from tracekit.intake.ingest import shares
from tracekit.intake.ingest.coordinate import Coordinator, Events
from tracekit.intake.ingest.once import LEFT_OUT, TWICE, counted_once, may_repeat
from tracekit.intake.ingest.shares import cpu_or_memory_missing, silent_use, strangers
from tracekit.intake.ingest.stage import derived_file
from tracekit.store.doubts import ONE_OF_TWO, SUM_OF_SOME, WITHOUT_USE
from tracekit.store.folder import (
    DERIVED,
    STAGING,
    Defect,
    Manifest,
    SourceEntry,
    Store,
    part_path,
    rejects_path,
)
from tracekit.store.never_ran import is_moment
from tracekit.store.stored_rows import LISTS
from tracekit.store.views import base_views, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES = ("container_usage", "node_usage")
_AMOUNTS = ("container_amount", "node_amount")
#: Defects of all files together, which stand at one entry.
_OF_ALL = (WITHOUT_USE, ONE_OF_TWO, TWICE)
_READ = ("container", "container_resource", "container_amount", "node_resource", "node_amount")


def derive(
    folder: Path, manifest: Manifest, commit: Callable[[Manifest], None], memory_bytes: int
) -> tuple[Fact, ...]:
    """Compute and store use as a fraction of capacity, from amounts, unless it is up to date.

    Parameters
    ----------
    commit : writes a manifest

    Returns
    -------
    Facts about amounts of unlisted nodes and containers, which no fraction uses.

    Raises
    ------
    TracekitError
        When the tables cannot be read.
    """
    if not any(one.rows for table in _AMOUNTS for one in manifest.parts(table)):
        _once(folder, manifest, commit, memory_bytes)
        return ()
    before = [entry for entry in manifest.sources if entry.release == DERIVED]
    digests = {entry.file.split("/")[1] for entry in before}
    if digests == {_digest(manifest)}:
        return ()
    aside = folder / STAGING / "derive"
    aside.mkdir(parents=True, exist_ok=True)
    manifest = _once(folder, manifest, commit, memory_bytes)
    digest = _digest(manifest)
    plain = replace(manifest, sources=tuple(_bare(e) for e in manifest.sources if e not in before))
    left_out: list[tuple[str, Defect]] = []
    with _opened(Store(folder, plain), aside, memory_bytes) as con:
        con.execute(shares.SIZES)
        made_files = list(_written(con, plain, aside, left_out))
        listed = _is_listed(plain, "container")
        count, silent = silent_use(con) if listed else (0, "")
        unlisted = tuple(strangers(con, [name for name in LISTS if _is_listed(plain, name)]))
    made: list[SourceEntry] = []
    events = Events(committed=lambda entries, _: made.extend(entries))
    # new parts get new numbers: the old parts stay until the manifest no longer names them. Entries
    # lose their content's identity, so that a part with the same bytes is written again
    let_go = tuple(replace(e, content="") if e in before else e for e in manifest.sources)
    numbered = replace(manifest, sources=let_go)
    coordinator = Coordinator(folder, numbered, Alone(), memory_bytes, events)
    named = [derived_file(path, f"{DERIVED}/{digest}/{path.stem}") for path in made_files]
    coordinator.take(named, lambda *_: None)
    entries = _with_gaps(plain, made, silent, count)
    for table, defect in left_out:
        entries = _noted(entries, table, defect)
    commit(replace(plain, sources=tuple(entries)))
    for entry in before:
        for path in (part_path(entry.table, entry.part), rejects_path(entry.table, entry.part)):
            (folder / path).unlink(missing_ok=True)
    return unlisted


def _is_listed(manifest: Manifest, entity: str) -> bool:
    """Whether any table lists the entity, ``node`` or ``container``."""
    return any(entry.rows for table in LISTS[entity] for entry in manifest.parts(table))


def _digest(manifest: Manifest) -> str:
    """A digest of the inputs of the fractions: the contents of files, less rows left out."""
    inputs = [entry for table in _READ for entry in manifest.parts(table)]
    texts = sorted(f"{one.content} {one.rows}" if _left_out(one) else one.content for one in inputs)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _left_out(entry: SourceEntry) -> bool:
    return any(one.action == LEFT_OUT for one in entry.defects)


def _once(
    folder: Path, manifest: Manifest, commit: Callable[[Manifest], None], memory_bytes: int
) -> Manifest:
    """The manifest after rows that stand in several files are left out of the later ones."""
    if not may_repeat(manifest):
        return manifest
    aside = folder / STAGING / "once"
    aside.mkdir(parents=True, exist_ok=True)
    with _opened(Store(folder, manifest), aside, memory_bytes) as con:
        manifest, gone = counted_once(con, folder, manifest)
    if gone:
        commit(manifest)
    for path in gone:
        (folder / path).unlink(missing_ok=True)
    return manifest


@contextmanager
def _opened(store: Store, aside: Path, memory_bytes: int) -> Iterator[DuckDBPyConnection]:
    """A connection to the store's base tables, on one thread."""
    import duckdb  # noqa: PLC0415 - the processes that read and sort never get here

    # sums of floats must not depend on how many threads there are
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": f"{memory_bytes >> 20}MiB",
    }
    with duckdb.connect(config=settings) as con:
        con.execute(f"SET temp_directory = '{quoted(aside)}'")
        for statement in base_views(store, relative=False):
            con.execute(statement)
        yield con


#: The ways to derive each table, the best first: a statement that makes ``held``, or none, and a
#: statement that selects the rows.
_WAYS = {
    "container_usage": ((shares.CONTAINERS_HELD, shares.CONTAINERS),),
    "node_usage": ((shares.NODES_HELD, shares.NODES), ("", shares.SUMS)),
}


def _written(
    con: DuckDBPyConnection, manifest: Manifest, aside: Path, left_out: list[tuple[str, Defect]]
) -> Iterator[Path]:
    """Write a Parquet file for each derived table with rows; yields the paths.

    Defects of amounts that no row uses are added to ``left_out``, with the table of the amounts.
    """
    recorded = {table for table in _TABLES if any(e.rows for e in manifest.parts(table))}
    own = any(entry.rows for entry in manifest.parts("node_amount")) and not is_moment(manifest)
    for table, ways in _WAYS.items():
        if table in recorded:
            continue
        for held, rows in ways if own or table != "node_usage" else ways[1:]:
            path = aside / f"{table}.parquet"
            if held:
                con.execute(held)
                if defect := cpu_or_memory_missing(con, table):
                    left_out.append((table.replace("usage", "amount"), defect))
            con.execute(f"COPY ({rows}) TO '{quoted(path)}' (FORMAT parquet)")
            if con.sql(f"SELECT count(*) FROM '{quoted(path)}'").fetchall()[0][0]:
                yield path
                break


def _with_gaps(
    plain: Manifest, made: list[SourceEntry], silent: str, containers: int
) -> Sequence[SourceEntry]:
    """All entries, with the defect of lacking use at a derived entry, or else at the amounts."""
    if not silent:
        return (*plain.sources, *made)
    own = any(entry.rows for entry in plain.parts("node_amount"))
    summed = not own or is_moment(plain)
    if not any(one.table == ("node_usage" if summed else "container_usage") for one in made):
        return (*_lacking(plain.sources, silent, containers), *made)
    if not summed:
        return (*plain.sources, *_lacking(made, silent, containers, "container_usage"))
    # every row of a node is then too low
    sums = [_partly(one, silent) if one.table == "node_usage" else one for one in made]
    return (*plain.sources, *sums)


def _lacking(
    entries: Sequence[SourceEntry], silent: str, containers: int, table: str = "container_amount"
) -> list[SourceEntry]:
    """The entries, with the defect of lacking use at the first entry of the table."""
    lacks = Defect(
        defect=WITHOUT_USE,
        column="container",
        rows=containers,
        action="a replay takes what they request",
        example=silent,
    )
    return _noted(entries, table, lacks)


def _noted(entries: Sequence[SourceEntry], table: str, defect: Defect) -> list[SourceEntry]:
    """The entries, with a further defect at the first entry of the table."""
    first = next((one for one in entries if one.table == table), None)
    return [
        replace(one, defects=(*one.defects, defect)) if one is first else one for one in entries
    ]


def _bare(entry: SourceEntry) -> SourceEntry:
    """The entry without the defects that this module noted in an earlier ingest."""
    own = tuple(one for one in entry.defects if one.defect not in _OF_ALL or one.action == LEFT_OUT)
    return entry if len(own) == len(entry.defects) else replace(entry, defects=own)


def _partly(entry: SourceEntry, why: str) -> SourceEntry:
    """The entry of sums over nodes, with the defect that some containers lack use."""
    defect = Defect(
        defect=SUM_OF_SOME,
        column="",
        rows=entry.rows,
        action="kept: containers without use count as nothing",
        example=f"{why}, and sums over a node count nothing of them",
    )
    return replace(entry, defects=(*entry.defects, defect))
