"""The data-quality ledger of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracekit.query import run
from tracekit.query.describe import describe
from tracekit.store import open_store


def check(store: str | Path) -> dict[str, Any]:
    """The data-quality ledger: ``{"tables": {name: {rows_read, ...}}, "ledger": [...]}``."""
    opened = open_store(store)
    ledger = run(opened, "quality/ledger").to_dicts()
    tables = {
        name: {key: table[key] for key in ("rows_read", "rows", "rejected", "duplicates_dropped")}
        for name, table in describe(opened)["tables"].items()
    }
    return {"tables": tables, "ledger": ledger}
