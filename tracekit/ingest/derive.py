"""Fractions worked out of amounts and sizes, so that every analysis reads them as any others.

Sources that record cores and bytes get rows of ``container_usage`` and ``node_usage``: use over the
request, where none is stated over the limit, else over the capacity of the node; and use of a node
over its capacity, from its own samples, else from the sum of its containers', also where its own
are a moment beside their history: between two samples the first one holds, as in a replay. They are
parts like those of a file, called ``derived/DIGEST/TABLE``; the digest is of what they were worked
out of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.crew.crew import Alone
from tracekit.errors import TracekitError
from tracekit.ingest.coordinate import Coordinator, Events
from tracekit.ingest.stage import derived_file
from tracekit.ingest.use_gaps import silent_use, strangers
from tracekit.store.checksums import damaged_parts
from tracekit.store.doubts import SUM_OF_SOME, WITHOUT_USE
from tracekit.store.folder import STAGING, Store, part_path, rejects_path
from tracekit.store.manifest import DERIVED, Defect, Manifest, SourceEntry
from tracekit.store.moments import is_moment
from tracekit.store.views import base_views, quoted
from tracekit.units import EPOCH_FROM_MS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES = ("container_usage", "node_usage")
_READ = ("container", "container_resource", "container_amount", "node_resource", "node_amount")

#: Sizes of a file without times count where no other file states any.
_SIZES = f"""
CREATE TEMP TABLE capacity AS
SELECT node_key, resource, unit,
       arg_min(
           amount, time_ms + CASE WHEN time_ms < {EPOCH_FROM_MS} THEN 1000000000000000 ELSE 0 END
       ) AS amount
FROM node_resource_keyed
WHERE cell IS NULL AND resource IN ('cpu', 'memory') AND amount > 0
GROUP BY node_key, resource, unit;

CREATE TEMP TABLE place AS
SELECT container_key, any_value(node_key) AS node_key, any_value(service_key) AS service_key
FROM container_keyed GROUP BY container_key;

CREATE TEMP TABLE size AS
SELECT container_key, resource, unit,
       CASE WHEN row_number() OVER earlier = 1 THEN -9000000000000000 ELSE time_ms END AS from_ms,
       coalesce(nullif(request, 0), nullif("limit", 0)) AS amount
FROM container_resource_keyed
WHERE resource IN ('cpu', 'memory')
WINDOW earlier AS (PARTITION BY container_key, resource, unit ORDER BY time_ms);
"""

_CONTAINERS = """
SELECT used.time_ms, service, used.container, node,
       max(CASE WHEN used.resource = 'cpu' THEN used.share END) AS cpu_fraction,
       max(CASE WHEN used.resource = 'memory' THEN used.share END) AS memory_fraction
FROM (
    SELECT a.time_ms, a.container_key, a.resource,
           a.amount / coalesce(size.amount, capacity.amount) AS share,
           container_id.container, service_id.service, node_id.node
    FROM container_amount_keyed AS a
    JOIN container_id ON container_id.container_key = a.container_key
    LEFT JOIN place ON place.container_key = a.container_key
    LEFT JOIN node_id ON node_id.node_key = place.node_key
    LEFT JOIN service_id ON service_id.service_key = place.service_key
    ASOF LEFT JOIN size
        ON size.container_key = a.container_key AND size.resource = a.resource
        AND size.unit = a.unit AND a.time_ms >= size.from_ms
    LEFT JOIN capacity
        ON capacity.node_key = place.node_key AND capacity.resource = a.resource
        AND capacity.unit = a.unit
    WHERE a.resource IN ('cpu', 'memory')
) AS used
GROUP BY used.time_ms, service, used.container, node
HAVING cpu_fraction IS NOT NULL AND memory_fraction IS NOT NULL
ORDER BY node, used.container, used.time_ms
"""

_OWN_SAMPLES = """
SELECT a.time_ms, node_id.node,
       max(CASE WHEN a.resource = 'cpu' THEN a.amount / capacity.amount END) AS cpu_fraction,
       max(CASE WHEN a.resource = 'memory' THEN a.amount / capacity.amount END) AS memory_fraction
FROM node_amount_keyed AS a
JOIN node_id ON node_id.node_key = a.node_key
JOIN capacity
    ON capacity.node_key = a.node_key AND capacity.resource = a.resource
    AND capacity.unit = a.unit
WHERE a.resource IN ('cpu', 'memory')
GROUP BY a.time_ms, node_id.node
HAVING cpu_fraction IS NOT NULL AND memory_fraction IS NOT NULL
ORDER BY node_id.node, a.time_ms
"""

_SUMS = """
WITH step AS (
    SELECT coalesce(mode(gap), 30000) AS step_ms
    FROM (
        SELECT time_ms - lag(time_ms) OVER (PARTITION BY container_key ORDER BY time_ms) AS gap
        FROM container_amount_keyed
        WHERE resource = 'cpu'
    ) AS gaps
    WHERE gap > 0
), grid AS (
    SELECT a.container_key, place.node_key, a.resource, a.unit,
           a.time_ms // step.step_ms * step.step_ms AS time_ms, step.step_ms,
           avg(a.amount) AS amount
    FROM container_amount_keyed AS a
    JOIN place ON place.container_key = a.container_key
    CROSS JOIN step
    WHERE a.resource IN ('cpu', 'memory') AND place.node_key IS NOT NULL
    GROUP BY ALL
), followed AS (
    SELECT *, lead(time_ms) OVER (
        PARTITION BY container_key, resource, unit ORDER BY time_ms
    ) AS next_ms
    FROM grid
), held AS (
    SELECT container_key, node_key, resource, unit, amount, time_ms FROM followed
    UNION ALL
    SELECT container_key, node_key, resource, unit, amount,
           unnest(range(time_ms + step_ms, next_ms, step_ms)) AS time_ms
    FROM followed
    WHERE next_ms > time_ms + step_ms
), total AS (
    SELECT held.time_ms, held.node_key, held.resource, sum(held.amount / capacity.amount) AS share
    FROM held
    JOIN capacity
        ON capacity.node_key = held.node_key AND capacity.resource = held.resource
        AND capacity.unit = held.unit
    GROUP BY ALL
)
SELECT total.time_ms, node_id.node,
       max(CASE WHEN total.resource = 'cpu' THEN total.share END) AS cpu_fraction,
       max(CASE WHEN total.resource = 'memory' THEN total.share END) AS memory_fraction
FROM total
JOIN node_id ON node_id.node_key = total.node_key
GROUP BY total.time_ms, node_id.node
HAVING cpu_fraction IS NOT NULL AND memory_fraction IS NOT NULL
ORDER BY node_id.node, total.time_ms
"""


def derive(
    folder: Path, manifest: Manifest, commit: Callable[[Manifest], None], memory_bytes: int
) -> str:
    """Compute the fractions again where their inputs have changed, or they are damaged.

    Returns what there is to tell of the amounts that none is worked out of, in a sentence.

    Raises
    ------
    TracekitError
        When the tables cannot be read.
    """
    inputs = [entry for table in _READ for entry in manifest.parts(table)]
    if not any(entry.rows for entry in inputs if entry.table.endswith("_amount")):
        return ""
    digest = hashlib.sha256("\n".join(sorted(e.content for e in inputs)).encode()).hexdigest()[:16]
    before = [entry for entry in manifest.sources if entry.release == DERIVED]
    known = {entry.file.split("/")[1] for entry in before}
    if known == {digest} and not any(damaged_parts(folder, before)):
        return ""
    aside = folder / STAGING / "derive"
    aside.mkdir(parents=True, exist_ok=True)
    plain = replace(manifest, sources=tuple(_bare(e) for e in manifest.sources if e not in before))
    with _opened(Store(folder, plain), aside, memory_bytes) as con:
        files = list(_written(con, plain, aside))
        listed = any(e.rows for e in plain.parts("container"))
        count, silent = silent_use(con) if listed else (0, "")
        told = strangers(con) if listed else ""
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
    named = [derived_file(path, f"{DERIVED}/{digest}/{path.stem}") for path in files]
    coordinator.take(named, lambda *_: None)
    commit(replace(plain, sources=_with_gaps(plain, made, silent, count)))
    for entry in before:
        for path in (part_path(entry.table, entry.part), rejects_path(entry.table, entry.part)):
            (folder / path).unlink(missing_ok=True)
    return told


@contextmanager
def _opened(store: Store, aside: Path, memory_bytes: int) -> Iterator[DuckDBPyConnection]:
    """The store's base tables, and sizes and places made of them."""
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
        con.execute(_SIZES)
        yield con


def _written(con: DuckDBPyConnection, manifest: Manifest, aside: Path) -> Iterator[Path]:
    """Parquet files of the tables that can be worked out, those that have rows."""
    recorded = {table for table in _TABLES if any(e.rows for e in manifest.parts(table))}
    own = any(entry.rows for entry in manifest.parts("node_amount")) and not is_moment(manifest)
    wanted = {"container_usage": (_CONTAINERS,), "node_usage": (_OWN_SAMPLES, _SUMS)}
    for table, ways in wanted.items():
        if table in recorded:
            continue
        for way in ways if own or table != "node_usage" else ways[1:]:
            path = aside / f"{table}.parquet"
            con.execute(f"COPY ({way}) TO '{quoted(path)}' (FORMAT parquet)")
            if con.sql(f"SELECT count(*) FROM '{quoted(path)}'").fetchall()[0][0]:
                yield path
                break


def _with_gaps(
    plain: Manifest, made: list[SourceEntry], silent: str, containers: int
) -> tuple[SourceEntry, ...]:
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
    """The entries, one of which says for all what lacks use: each sentence is printed once."""
    lacks = Defect(
        defect=WITHOUT_USE,
        column="container",
        rows=containers,
        action="a replay takes what they request",
        example=silent,
    )
    first = next((one for one in entries if one.table == table), None)
    return [replace(one, defects=(*one.defects, lacks)) if one is first else one for one in entries]


def _bare(entry: SourceEntry) -> SourceEntry:
    """The entry without what was told of it before."""
    kept = tuple(one for one in entry.defects if one.defect != WITHOUT_USE)
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
