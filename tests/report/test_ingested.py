"""The table of what a store holds: rows of no time are no beginning."""

from __future__ import annotations

import polars as pl

from tracekit.report.contents import contents
from tracekit.report.data import Data

TABLE = {"rows": 2, "rejected": 0, "duplicates_dropped": 0}


def test_rows_from_the_beginning_make_no_span_of_57_years() -> None:
    day = 86_400_000
    at = 1_795_305_600_000
    tables = {
        "node": {**TABLE, "time_min_ms": 0, "time_max_ms": at},
        "node_usage": {**TABLE, "time_min_ms": at, "time_max_ms": at + day},
    }
    data = Data(fetch=lambda *_: pl.DataFrame(), info={"tables": tables, "sources": []})
    shown = contents.ingested(data)
    at_span = [one.name for one in shown.columns].index("span_ms")
    assert [row[at_span].text for row in shown.rows] == ["\u2013", "24 h"]
    assert contents._length(data) == [("24 h", "of trace")]
