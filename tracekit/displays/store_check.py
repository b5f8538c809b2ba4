"""What was wrong with the rows of a store, and what was done; or which stored files changed."""

from tracekit.query.describe import StoreCheck
from tracekit.shown import ROWS, Page
from tracekit.store.broken_rows import kept_of
from tracekit.units import percent
from tracekit.words import counted


def page(found: StoreCheck) -> Page:
    """The page of a check."""
    return _of_files(found) if "verified" in found else _of_rows(found)


def _of_rows(found: StoreCheck) -> Page:
    ledger = found["ledger"]
    counts = [kept_of(one) for one in found["tables"].values()]
    kept, read = (sum(one[at] for one in counts) for at in (0, 1))
    return Page(
        title=f"Data quality: {kept:,} rows kept of {read:,} read; {len(ledger)} kinds of defect",
        columns=["table", "defect", "column", "rows", "share", "what was done"],
        rows=[
            [
                one["table"],
                one["defect"],
                one["column"],
                one["rows"],
                percent(one["share"], 3),
                one["action"],
            ]
            for one in ledger[:ROWS]
        ],
        rest=[f"['ledger']: {counted(len(ledger), 'row')}; ['tables']: counts of each table"],
    )


def _of_files(found: StoreCheck) -> Page:
    damaged, cut = found["damaged"], found["unfinished"]
    return Page(
        title=f"{found['verified']:,} stored files read, {len(damaged):,} damaged",
        lines=[
            *(["The last ingest was cut short: run it again to go on."] if cut else []),
            *(
                f"{path} is not what would be written here today; any ingest makes it anew."
                for path in found["stale"]
            ),
        ],
        columns=["file", "found", "of source file"] if damaged else [],
        rows=[[one["path"], one["found"], one["source_file"]] for one in damaged[:ROWS]],
    )
