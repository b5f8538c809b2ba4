"""What a store records and what a replay rests on: quantities by how they are known."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from tracekit.report.cells import Table, table
from tracekit.report.data import Data

_KINDS = ("recorded", "inferred", "chosen", "assumed", "absent")


def of_store(data: Data) -> Table | None:
    """What the store records."""
    return _grouped((data.info or {}).get("quantities", {}), "What the store records")


def of_replay(data: Data) -> Table | None:
    """What the replay rests on."""
    known = (data.run or {}).get("workload", {}).get("quantities", {})
    return _grouped(known, "What the replay rests on")


def _grouped(known: Mapping[str, str], title: str) -> Table | None:
    """The quantities of each kind; None where nothing is said of any."""
    if not known:
        return None
    rows = [
        {"these are": kind, "quantities": ", ".join(n for n, k in known.items() if k == kind)}
        for kind in _KINDS
        if kind in known.values()
    ]
    schema = dict.fromkeys(("these are", "quantities"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), title)
