"""The data-quality ledger of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.places import place
from tracekit.verbs._options import Option, Store

if TYPE_CHECKING:
    from tracekit.store.query.describe import StoreCheck

_COUNTS = ("rows_read", "lines_read", "rows", "rejected", "duplicates_dropped")


def check(
    store: Store,
    *,
    verify: Annotated[
        bool,
        Option(
            "Read every file of a store or result; exit with 1 if one changed.", names="--verify"
        ),
    ] = False,
    subset: Annotated[
        str | None, Option("Verify one of so many shares of the files, e.g. 1/7.", metavar="N/OF")
    ] = None,
) -> StoreCheck:
    """The data-quality ledger: ``{"tables": {name: {rows_read, ...}}, "ledger": [...], ...}``.

    Its ``doubts`` are facts of what the tables cannot mean as they stand.

    Parameters
    ----------
    verify : read every file instead, and compare it with its checksum: ``{"verified": count,
        "without_checksums": [source file, ...], "damaged": [{path, kind, found, source_file}, ...],
        "stale": [derived file that is not what would be written here today, ...],
        "unfinished": whether the last ingest was cut short}``. The folder may be a result as well,
        or hold stores and results
    subset : verify so: the n-th of so many shares of the files, by their paths
    """
    from tracekit.store.folder import open_store
    from tracekit.store.query import run
    from tracekit.store.query.describe import StoreCheck, describe

    if verify or subset is not None:
        from tracekit.verbs._verify import Subset, verified

        share = Subset.parsed(subset) if subset is not None else Subset()
        return StoreCheck(verified(place(store), share).document())
    opened = open_store(store)
    ledger = run(opened, "quality/ledger").to_dicts()
    document = describe(opened)
    tables = {
        name: {key: table[key] for key in _COUNTS} for name, table in document["tables"].items()
    }
    return StoreCheck(tables=tables, ledger=ledger, doubts=document["doubts"])
