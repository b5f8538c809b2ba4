"""The drawings of the page on two policies keep within their frames, however long names are."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from browser_support import IN_BROWSER, WIDTHS, Windows

from tracekit.answer.amounts import difference_text
from tracekit.answer.standings import difference
from tracekit.report.data import load
from tracekit.report.measures import present
from tracekit.report.render import render_data
from tracekit.verbs.replay import replay

pytestmark = IN_BROWSER
#: Texts of the page that reach beyond their drawing.
_BEYOND = """
() => [...document.querySelectorAll("[id='/pair'] .plot svg text")].filter((text) => {
  const [box, frame] = [text, text.closest(".plot")].map((one) => one.getBoundingClientRect());
  return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
    || box.bottom > frame.bottom + 1);
}).map((text) => text.textContent)
"""
_TITLES = """
() => ["two-nodes-plot", "two-services-plot"].map((id) => document.getElementById(id).textContent)
"""


@pytest.fixture(scope="module")
def page_of_long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nodes named as those of a cloud are."""
    folder = tmp_path_factory.mktemp("pair")
    out = folder / "run"
    replay(
        None,
        ["first_fit", "worst_fit"],
        out=out,
        workload="paper000[containers=60,nodes=12]",
        repeats=6,
    )
    placed = pl.read_parquet(out / "placements.parquet")
    named = pl.format("ip-192-168-123-{}.eu-west-1.compute.internal", pl.col("node"))
    placed.with_columns(named.alias("node")).write_parquet(out / "placements.parquet")
    path = folder / "report.html"
    path.write_text(render_data(load(None, None, out)), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_no_title_of_an_axis_reaches_beyond_its_drawing(
    windows: Windows, page_of_long_names: Path, width: int
) -> None:
    with windows.at(page_of_long_names, width) as page:
        page.evaluate("location.hash = '#/pair'")
        page.wait_for_selector("#two-services-plot svg text")
        assert page.evaluate(_BEYOND) == []
        legends = page.locator("[id='/pair'] .legend").all_inner_texts()
        # both policies by name above every figure of the page
        assert len(legends) == page.locator("[id='/pair'] .plot").count()
        for legend in legends:
            assert "first_fit" in legend
            assert "worst_fit" in legend
        nodes, services = page.evaluate(_TITLES)
        assert "Containers [count]" in nodes
        assert "Nodes [count]" in services


_ROWS = """
() => [...document.querySelectorAll("#two-measures tr, #two-measures-rest tr")].map(
  (row) => [...row.cells].map((cell) => cell.textContent))
"""


def test_differences_have_the_digits_of_the_other_pages(
    windows: Windows, page_of_long_names: Path
) -> None:
    data = load(None, None, page_of_long_names.parent / "run")
    assert data.results is not None
    titles = {one.title: one for one in present(data.replay("summary"))}
    with windows.at(page_of_long_names, 1440) as page:
        page.evaluate("location.hash = '#/pair'")
        page.wait_for_selector("#two-services-plot svg text")
        first, second = (page.input_value(f"#policy-{one}") for one in "ab")
        rows = page.evaluate(_ROWS)
    several = 0
    for title, _, _, apart, interval in rows:
        found = difference(data.results, second, first, titles[title].name)
        if found is None or found.low is None or found.low == found.high:
            continue
        told = difference_text(titles[title], found).replace("+", "")
        unit = "\u00a0pp" if titles[title].share else ""
        assert f"{apart.removesuffix(unit)}{unit} ({interval.removesuffix(unit)})" == told
        several += 1
    assert several > 3
