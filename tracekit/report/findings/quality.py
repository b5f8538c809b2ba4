"""How much of the trace was as it should be."""

import polars as pl

from tracekit.report.data import Data
from tracekit.report.findings import Finding, Said
from tracekit.store.broken_rows import kept_of
from tracekit.store.manifest import DERIVED
from tracekit.words import count, percent


def _find(data: Data) -> Said | None:
    if data.info is None:
        return None
    # what ingest worked out of other rows was not read
    read_in = [one for one in data.info["sources"] if one["release"] != DERIVED]
    counts = [kept_of(one) for one in read_in]
    kept, read = (sum(one[at] for one in counts) for at in (0, 1))
    if not read:
        return None
    ledger = data.query("quality/ledger")
    share = percent(kept / read, 2 if 0.9 < kept / read < 1 else None)
    # rounded, nearly all would be all
    nearly = kept < read and share == percent(1.0, 2)
    return Said(
        value=f"> {percent(0.9999, 2)}" if nearly else share,
        sentence=f"of the {count(read, 'row')} read were kept. {_most(ledger)}",
        page="quality",
    )


def _most(ledger: pl.DataFrame) -> str:
    if ledger.is_empty():
        return "No defect was met."
    kinds = (
        ledger.group_by("defect")
        .agg(pl.col("rows").sum())
        .sort(["rows", "defect"], descending=[True, False])
    )
    row = kinds.row(0, named=True)
    return (
        f"The commonest of {count(kinds.height, 'kind')} of defect is"
        f" {row['defect'].replace('_', ' ')}, {count(row['rows'], 'row')}."
    )


FINDING = Finding(order=45, find=_find)
