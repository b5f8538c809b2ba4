"""The data-quality ledger of a store."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.verbs._options import Option, Store

if TYPE_CHECKING:
    from tracekit.query.describe import StoreCheck
    from tracekit.store import Store as Opened

_COUNTS = ("rows_read", "lines_read", "rows", "rejected", "duplicates_dropped")


def check(
    store: Store,
    *,
    verify: Annotated[
        bool, Option("Read every stored file; exit with 1 if one changed.", names="--verify")
    ] = False,
) -> StoreCheck:
    """The data-quality ledger: ``{"tables": {name: {rows_read, ...}}, "ledger": [...], ...}``.

    Its ``doubts`` are sentences on what the tables cannot mean as they stand.

    Parameters
    ----------
    verify : read every stored file instead, and compare it with its checksum: ``{"verified": count,
        "without_checksums": [source file, ...], "damaged": [{path, source_file, found}, ...],
        "stale": [derived file that is not what would be written here today, ...],
        "unfinished": whether the last ingest was cut short}``
    """
    from tracekit.query import run
    from tracekit.query.describe import StoreCheck, describe
    from tracekit.store import open_store

    opened = open_store(store)
    if verify:
        return StoreCheck(_verified(opened))
    ledger = run(opened, "quality/ledger").to_dicts()
    document = describe(opened)
    tables = {
        name: {key: table[key] for key in _COUNTS} for name, table in document["tables"].items()
    }
    return StoreCheck(tables=tables, ledger=ledger, doubts=document["doubts"])


def _verified(store: Opened) -> dict[str, Any]:
    from tracekit.files.places import is_remote
    from tracekit.store.catalog_checked import checked_catalog
    from tracekit.store.checksums import (
        Damage,
        damaged_parts,
        damaged_quality,
        stale_quality,
        unfinished,
    )
    from tracekit.store.folder import CATALOG
    from tracekit.store.manifest import NAME, is_sealed
    from tracekit.store.quality import QUALITY

    sources = store.manifest.sources
    damaged = [*damaged_parts(store.path, sources), *damaged_quality(store)]
    cut_short = unfinished(store)
    stale: list[str] = []
    has_catalog = not is_remote(store.path)
    # what was cut short, or cannot be read, has no views to be made
    if not damaged and not cut_short:
        stale += stale_quality(store)
        current, damage = checked_catalog(store) if has_catalog else (True, None)
        if damage is not None:
            damaged.append(Damage(CATALOG, None, damage))
        elif not current:
            stale.append(CATALOG)
    unsealed = [] if is_sealed(store.path) else [NAME]
    return {
        "verified": sum(len(entry.checksums) for entry in sources) + len(QUALITY) + has_catalog,
        "without_checksums": [
            *(entry.file for entry in sources if not entry.checksums),
            *unsealed,
        ],
        "damaged": [dataclasses.asdict(one) for one in damaged],
        "stale": stale,
        "unfinished": cut_short,
    }
