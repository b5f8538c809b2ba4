"""Fractions worked out of amounts and sizes, so that every analysis reads them as any others.

Sources that record cores and bytes get rows of ``container_usage`` and ``node_usage``: use over the
request, where none is stated over the limit, else over the capacity of the node; and use of a node
over its capacity, from its own samples, else from the sum of its containers', also where its own
are a moment beside their history. A row has both CPU and memory: where one of them is sampled less
often, its last sample holds, until it counts as silent (``sources.silence``). They are parts like
those of a file, called ``derived/DIGEST/TABLE``; the digest is of what they were worked out of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.crew import Alone
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.intake.ingest import shares
from tracekit.intake.ingest.coordinate import Coordinator, Events
from tracekit.intake.ingest.repeated.once import LEFT_OUT, TWICE, Written, counted_once, may_repeat
from tracekit.intake.ingest.stage import derived_file
from tracekit.intake.ingest.use_gaps import one_of_two, silent_use, strangers
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
#: Defects that are noted at one entry and are of all; such samples were kept once.
_OF_ALL = (WITHOUT_USE, ONE_OF_TWO, TWICE)
_READ = ("container", "container_resource", "container_amount", "node_resource", "node_amount")


def derive(
    folder: Path, manifest: Manifest, commit: Callable[[Manifest], None], memory_bytes: int
) -> tuple[Fact, ...]:
    """Compute the fractions again where their inputs have changed, or they are not there.

    Returns facts of the amounts that no fraction is worked out of.

    Raises
    ------
    TracekitError
        When the tables cannot be read.
    """
    if not any(one.rows for table in _AMOUNTS for one in manifest.parts(table)):
        _once(folder, manifest, commit, memory_bytes)
        return ()
    before = [entry for entry in manifest.sources if entry.release == DERIVED]
    known = {entry.file.split("/")[1] for entry in before}
    if known == {_digest(manifest)}:
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

    def failed(_: str, error: TracekitError) -> None:
        raise error

    events = Events(
        committed=lambda entries, _: made.extend(entries),
        known=lambda *_: None,
        failed=failed,
        check=lambda *_: None,
    )
    # parts get numbers beyond all there are: those of before stay until the manifest lets them go.
    # they are not known by their bytes: what comes out the same again must be written again
    let_go = tuple(replace(e, content="") if e in before else e for e in manifest.sources)
    numbered = replace(manifest, sources=let_go)
    coordinator = Coordinator(folder, numbered, Alone(), memory_bytes, events)
    named = [derived_file(path, f"{DERIVED}/{digest}/{path.stem}") for path in made_files]
    coordinator.take(named, lambda *_: None)
    said = _with_gaps(plain, made, silent, count)
    for table, defect in left_out:
        said = _noted(said, table, defect)
    commit(replace(plain, sources=tuple(said)))
    for entry in before:
        for path in (part_path(entry.table, entry.part), rejects_path(entry.table, entry.part)):
            (folder / path).unlink(missing_ok=True)
    return unlisted


def _is_listed(manifest: Manifest, entity: str) -> bool:
    """Whether any table lists nodes, or containers."""
    return any(entry.rows for table in LISTS[entity] for entry in manifest.parts(table))


def _digest(manifest: Manifest) -> str:
    """Of what the fractions are worked out of: contents of files, less what is left out of them."""
    inputs = [entry for table in _READ for entry in manifest.parts(table)]
    told = sorted(f"{one.content} {one.rows}" if _left_out(one) else one.content for one in inputs)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _left_out(entry: SourceEntry) -> bool:
    return any(one.action == LEFT_OUT for one in entry.defects)


def _once(
    folder: Path, manifest: Manifest, commit: Callable[[Manifest], None], memory_bytes: int
) -> Manifest:
    """The manifest of a store in which no row stands in two files, nor in those of two sources."""
    if not may_repeat(manifest):
        return manifest
    aside = folder / STAGING / "once"
    aside.mkdir(parents=True, exist_ok=True)
    with _opened(Store(folder, manifest), aside, memory_bytes) as con:
        written = counted_once(con, folder, manifest)
    return _committed(folder, written, commit)


def _committed(folder: Path, written: Written, commit: Callable[[Manifest], None]) -> Manifest:
    """The manifest once it is committed, and the parts that it names no more are gone."""
    if written.gone:
        commit(written.manifest)
    for path in written.gone:
        (folder / path).unlink(missing_ok=True)
    return written.manifest


@contextmanager
def _opened(store: Store, aside: Path, memory_bytes: int) -> Iterator[DuckDBPyConnection]:
    """The store's base tables."""
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


#: How each table is worked out: what is held, if anything, and the rows.
_WAYS = {
    "container_usage": ((shares.CONTAINERS_HELD, shares.CONTAINERS),),
    "node_usage": ((shares.NODES_HELD, shares.NODES), ("", shares.SUMS)),
}


def _written(
    con: DuckDBPyConnection, manifest: Manifest, aside: Path, left_out: list[tuple[str, Defect]]
) -> Iterator[Path]:
    """Parquet files of the tables that can be worked out, those that have rows.

    What they leave out is noted in ``left_out``, by the table of the amounts it is in.
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
                if defect := one_of_two(con, table):
                    left_out.append((table.replace("usage", "amount"), defect))
            con.execute(f"COPY ({rows}) TO '{quoted(path)}' (FORMAT parquet)")
            if con.sql(f"SELECT count(*) FROM '{quoted(path)}'").fetchall()[0][0]:
                yield path
                break


def _with_gaps(
    plain: Manifest, made: list[SourceEntry], silent: str, containers: int
) -> Sequence[SourceEntry]:
    """All entries, one of which says what lacks use: one of those made, else one of amounts."""
    if not silent:
        return (*plain.sources, *made)
    own = any(entry.rows for entry in plain.parts("node_amount"))
    summed = not own or is_moment(plain)
    if any(one.table == ("node_usage" if summed else "container_usage") for one in made):
        return (*plain.sources, *_told(made, silent, None if summed else containers))
    return (*_lacking(plain.sources, silent, containers), *made)


def _told(made: list[SourceEntry], silent: str, containers: int | None) -> list[SourceEntry]:
    """The entries with a defect that says what lacks use.

    ``containers`` is None where use of nodes is their sum: then each row of a node lacks something.
    Otherwise it says of how many containers the table of their use knows nothing.
    """
    if containers is None:
        return [_partly(one, silent) if one.table == "node_usage" else one for one in made]
    return _lacking(made, silent, containers, "container_usage")


def _lacking(
    entries: Sequence[SourceEntry], silent: str, containers: int, table: str = "container_amount"
) -> list[SourceEntry]:
    """The entries, one of which says for all what lacks use."""
    lacks = Defect(
        defect=WITHOUT_USE,
        column="container",
        rows=containers,
        action="a replay takes what they request",
        example=silent,
    )
    return _noted(entries, table, lacks)


def _noted(entries: Sequence[SourceEntry], table: str, defect: Defect) -> list[SourceEntry]:
    """The entries, the first of the table with a defect of all: each sentence is printed once."""
    first = next((one for one in entries if one.table == table), None)
    return [
        replace(one, defects=(*one.defects, defect)) if one is first else one for one in entries
    ]


def _bare(entry: SourceEntry) -> SourceEntry:
    """The entry without what was told of it before."""
    kept = tuple(
        one for one in entry.defects if one.defect not in _OF_ALL or one.action == LEFT_OUT
    )
    return entry if len(kept) == len(entry.defects) else replace(entry, defects=kept)


def _partly(entry: SourceEntry, why: str) -> SourceEntry:
    """The entry of sums that lack some of what they are of."""
    defect = Defect(
        defect=SUM_OF_SOME,
        column="",
        rows=entry.rows,
        action="kept: containers without use count as nothing",
        example=f"{why}, and sums over a node count nothing of them",
    )
    return replace(entry, defects=(*entry.defects, defect))
