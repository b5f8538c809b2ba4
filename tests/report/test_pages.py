"""A page stands in the contents only where the data can have what it promises."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from report_queries_support import queries
from report_results_support import results

from tracekit.report.data import Data
from tracekit.report.pages import all_pages
from tracekit.report.render import render_data


def store(release: str, empty: tuple[str, ...] = (), **rows: int) -> Data:
    """A store of a release with so many rows in its tables; some queries have none."""
    frames = queries(8, 5)
    frames |= {name: frames[name].clear() for name in empty}
    made = {name: one for name, one in results(8).items() if not name.startswith("callgraph/")}
    proxy = {"fit/coefficients": made["fit/coefficients"].with_columns(mode=pl.lit("proxy"))}
    source = {"release": release, "file": "a", "table": "node", "size_bytes": 1, "sha256": "0"}
    counts: dict[str, Any] = {"rows": 1, "rows_read": 1, "rejected": 0, "duplicates_dropped": 0}
    known = {"time_min_ms": None, "time_max_ms": None}
    return Data(
        fetch=lambda name, _: frames[name],
        info={
            "tables": {name: counts | known | {"rows": many} for name, many in rows.items()},
            "sources": [source | counts],
        },
        results=lambda name: (made | proxy).get(name, pl.DataFrame()),
    )


def shown(data: Data) -> set[str]:
    return {page.name for page in all_pages().values() if page.fits(data)}


def test_a_cluster_of_ones_own_without_calls_has_no_page_of_calls() -> None:
    names = shown(store("kubernetes", node=8))
    assert not names & {"calls", "interference", "claims"}
    assert {"answer", "trace", "zones", "services", "requests"} <= names
    html = render_data(store("kubernetes", node=8))
    assert 'href="#/calls"' not in html
    assert "published_claims" not in html


def test_a_published_trace_with_calls_has_them() -> None:
    assert {"calls", "interference", "claims"} <= shown(store("ctm21", call=3, node=8))


@pytest.mark.parametrize(
    ("page", "query"),
    [("requests", "services/requests"), ("zones", "usage/node_profile")],
)
def test_a_page_about_rows_that_are_not_there_is_left_out(page: str, query: str) -> None:
    assert page in shown(store("alibaba18"))
    assert page not in shown(store("alibaba18", (query,)))
