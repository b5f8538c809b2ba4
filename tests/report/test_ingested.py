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


def test_the_time_under_the_title_is_the_whole_time_of_the_replay() -> None:
    """It was that to the beginning of the last step, beside a text on all of it."""
    load = {"nodes": 2, "containers": 3, "steps": 102, "step_ms": 300_000}
    load |= {"time_min_ms": 0, "time_max_ms": 101 * 300_000}
    *_, last = contents.facts(Data(run={"workload": load, "policies": []}))
    assert last == ("8 h 30 min", "of replay, in 102 steps")
