"""A page stands in the contents only where the data can have what it promises."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from report_queries_support import queries
from report_results_support import results

from tracekit import registry
from tracekit.report import contents as package
from tracekit.report.contents import analysis, contents
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


@pytest.mark.slow
def test_without_recorded_calls_no_figure_asks_what_calls_explain() -> None:
    with_calls, without = store("ctm21"), store("kubernetes", ("services/demand",))
    assert 'id="figure-service_demand"' in render_data(with_calls)
    assert 'id="figure-service_demand"' not in render_data(without)


def test_sizes_of_both_resources_stand_on_one_page() -> None:
    sizes = pl.DataFrame(
        {
            "resource": ["cpu", "memory"],
            "node_share": [0.136, 0.09],
            "node_share_low": [0.12, 0.06],
            "node_share_high": [0.15, 0.12],
            "services": [3, 3],
            "services_told": [3, 3],
        }
    )
    data = store("kubernetes", node=8)
    base = data._results
    assert base is not None
    data._results = lambda name: sizes if name == "analysis/service_sizes_fit" else base(name)
    told = [text.replace("\u00a0", " ") for text in analysis.sizes(data)]
    assert told[0].startswith("CPU size of a container: 13.6 % of a node (95 % interval 12.0 %")
    assert told[1].startswith("Memory size of a container: 9 % of a node (95 % interval 6 %")
    assert not any("size of a container" in text for text in analysis.sentences(data))


def test_a_published_trace_with_calls_has_them() -> None:
    assert {"calls", "interference", "claims"} <= shown(store("ctm21", call=3, node=8))


@pytest.mark.parametrize(
    ("page", "query"),
    [("requests", "services/requests"), ("zones", "usage/node_profile")],
)
def test_a_page_about_rows_that_are_not_there_is_left_out(page: str, query: str) -> None:
    assert page in shown(store("alibaba18"))
    assert page not in shown(store("alibaba18", (query,)))


def test_what_a_page_shows_is_found_by_the_name_of_its_file() -> None:
    every = [name for name in registry.module_names(package) if name != "contents"]
    found = [getattr(contents, name).__name__ for name in every]
    assert found == [f"{package.__name__}.{name}" for name in every]
    with pytest.raises(AttributeError, match="contents has no part 'nothing'"):
        getattr(contents, "nothing")  # noqa: B009 - a type checker knows no such part
