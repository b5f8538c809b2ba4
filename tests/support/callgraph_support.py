"""Traces spelled out as records, and as rows of the call table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl


class Record(NamedTuple):
    """One row of the call table; names are None where they are missing."""

    time_ms: int
    rpc_id: str
    upstream: int | None
    rpc_type: str | None
    downstream: int | None
    interface: int | None
    response_time_ms: float | None


def rows_of(
    traces: Mapping[int, Iterable[Record]], parts: Mapping[int, int] | None = None
) -> pl.DataFrame:
    """Traces as rows of ``call_keyed`` with ``part``."""
    columns: dict[str, Any] = {
        "time_ms": pl.Int64,
        "rpc_id": pl.String,
        "upstream_key": pl.Int32,
        "rpc_type": pl.String,
        "downstream_key": pl.Int32,
        "interface_key": pl.Int32,
        "response_time_ms": pl.Float64,
    }
    rows = [(trace, (parts or {}).get(trace, 0), *r) for trace, rs in traces.items() for r in rs]
    return pl.DataFrame(
        rows, schema={"trace_key": pl.Int32, "part": pl.Int32, **columns}, orient="row"
    )


def records_of(rows: pl.DataFrame) -> dict[int, list[Record]]:
    """Rows of ``call_keyed`` as records, by trace."""
    traces: dict[int, list[Record]] = defaultdict(list)
    names = [
        "time_ms",
        "rpc_id",
        "upstream_key",
        "rpc_type",
        "downstream_key",
        "interface_key",
        "response_time_ms",
    ]
    for row in rows.select("trace_key", *names).rows():
        traces[row[0]].append(Record(*row[1:]))
    return traces
