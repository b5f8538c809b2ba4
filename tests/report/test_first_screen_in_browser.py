"""What a window shows before anybody scrolls, and tables that fit their page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser_support import IN_BROWSER, Windows, opened
from report_support import made_up

from tracekit.report.render import render_data

pytestmark = IN_BROWSER

#: What stands in the window of a desk, each to its last line.
SEEN = {
    "the answer": "p.answer",
    "what it would change": "table.changes",
    "how sure": "dl.told > div:has(dt:text-is('How sure')) dd",
    "what it rests on": "dl.told > div:has(dt:text-is('What it rests on')) dd",
    "the next command": "dl.told > div:has(dt:text-is('What to do next')) pre",
}


@pytest.fixture(scope="module")
def none_recommended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a run in which every policy leaves containers waiting."""
    data = made_up()
    for name in ("summary", "repeats"):
        frame = data._run_frames[name]
        waits = pl.when(pl.col("policy").is_in(["observed", "bound"])).then(0).otherwise(3)
        data._run_frames[name] = frame.with_columns(
            pending=waits, pending_container_steps=waits, memory_max_fraction=pl.lit(0.5)
        )
    path = tmp_path_factory.mktemp("none") / "report.html"
    path.write_text(render_data(data), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1440])
@pytest.mark.parametrize("which", ["report", "none_recommended"])
def test_the_first_screen_of_a_desk_has_all_that_decides(
    windows: Windows, which: str, width: int, request: pytest.FixtureRequest
) -> None:
    with windows.at(request.getfixturevalue(which), width) as page:
        for what, where in SEEN.items():
            box = page.locator(f"section.page.shown {where}").first.bounding_box()
            assert box["y"] + box["height"] <= 900, (what, box)
        more = page.locator(f"{SEEN['what it rests on']} a[href='#/rests']")
        assert more.count() == 1
        # what else there is to know begins below the table, also where what is beside it is longer
        gap = """(dd) => dd.querySelector('.rests').getBoundingClientRect().top
            - dd.querySelector('.change').getBoundingClientRect().bottom"""
        assert page.locator("section.page.shown dl.told").nth(1).evaluate(gap) < 20


@pytest.mark.slow
@pytest.mark.parametrize("which", ["report", "none_recommended"])
def test_the_first_screen_of_a_phone_has_the_answer_and_what_is_next_is_not_last(
    browser: Any, which: str, request: pytest.FixtureRequest
) -> None:
    with opened(browser, request.getfixturevalue(which), width=390, height=844) as page:
        box = page.locator("section.page.shown p.answer").first.bounding_box()
        assert box["y"] + box["height"] <= 844
        heads = page.locator("section.page.shown dl.told dt").all_inner_texts()
        assert heads.index("What to do next") <= 2
        assert heads.index("What to do next") < len(heads) - 1
        following = page.locator(f"section.page.shown {SEEN['the next command']}").first
        assert following.bounding_box()["y"] < 2 * 844


def test_who_is_not_recommended_is_said_to_be_so(windows: Windows, none_recommended: Path) -> None:
    with windows.at(none_recommended) as page:
        head = page.locator("section.page.shown .change dt").inner_text()
        assert head.startswith("What first_fit would change (not recommended), on all")
        note = page.locator("section.page.shown .change p.quiet").inner_text()
        assert "first_fit, which the next commands ask about, is barred: left" in note
        ways = page.locator("section.page.shown .change [data-way='better']")
        assert ways.count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("width", [768, 1440])
def test_the_table_of_the_fewest_nodes_is_not_wider_than_the_page(
    windows: Windows, report: Path, width: int
) -> None:
    with windows.at(report, width) as page:
        page.evaluate("location.hash = '#/fewest'")
        card = page.locator("[id='/fewest'] .table-card", has_text="Fewest nodes by policy")
        body = card.locator(".dt-scroll-body")
        body.wait_for()
        if width == 1440:
            assert body.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
        heads = card.locator(".dt-scroll-head th").all_inner_texts()
        assert not [head for head in heads if "mean of the orders" in head]
        card.locator("button", has_text="Columns").click()
        choices = page.locator(".dt-button-collection button").all_inner_texts()
        means = [text for text in choices if text.endswith("mean of the orders")]
        assert len(means) == 3
        assert len(set(means)) == 3


@pytest.mark.slow
def test_two_policies_have_their_colours_of_other_pages(windows: Windows, report: Path) -> None:
    with windows.at(report) as page:
        page.evaluate("location.hash = '#/load'")
        page.wait_for_selector("#replay_peak svg")
        read = """(all) => all.map((one) =>
            [one.textContent.trim(), one.querySelector("line").getAttribute("stroke")])"""
        legend = dict(page.locator("#figure-replay_peak .legend li").evaluate_all(read))
        page.evaluate("location.hash = '#/pair'")
        page.locator("#policy-a").wait_for(state="visible")
        shown = {name: shade for name, shade in legend.items() if name != "lower bound"}
        assert len(shown) > 2
        for name, shade in shown.items():
            page.locator("#policy-b").select_option(label=name)
            dot = page.locator(".dot.policy-b").evaluate("(one) => one.style.background")
            assert dot == shade, name
