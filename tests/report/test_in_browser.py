"""The report in a real browser: pages, figures, tables, keyboard, accessibility, speed.

Skipped where no Chromium is installed.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from browser_support import IN_BROWSER, WIDTHS, Windows, opened
from report_support import made_up

from tracekit.report.render import all_pages, render_data

#: What a page may take to its first paint; the fastest of some counts, as others are at work.
FIRST_PAINT_MS = 1000
#: What no legend may take of its figure.
LEGEND_SHARE = 0.2

pytestmark = IN_BROWSER


def _focused(page: Any, text: str) -> None:
    """Wait until the element with this text has the focus: the page moves it after the key."""
    has_it = "(text) => document.activeElement.textContent.trim() === text"
    page.wait_for_function(has_it, arg=text)


#: Shows each page in turn and asks of it what a reader would: is anything cut, covered or missing?
LOOK = """
async () => {
  const found = [];
  const shown = () => window.tracekit.shown();
  for (const page of window.tracekit.pages) {
    const turned = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    if (location.hash !== `#${page.id}`) { location.hash = `#${page.id}`; await turned; }
    await new Promise((done) => setTimeout(done, 60));
    const say = (what) => found.push(`${page.id}: ${what}`);
    if (shown() !== page) say("is not shown");
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) say(`is ${wide} px wider than the window`);
    for (const other of window.tracekit.pages) {
      if ((getComputedStyle(other).display !== "none") !== (other === page)) say("is not alone");
    }
    for (const one of page.querySelectorAll("p, h2, h3, li, dd, dt, th, td, a, button, label")) {
      const style = getComputedStyle(one);
      if (!one.clientWidth || style.overflowX !== "hidden") continue;
      if (one.scrollWidth > one.clientWidth + 1) say(`cuts ${one.textContent.slice(0, 40)}`);
    }
    for (const plot of page.querySelectorAll("figure .plot")) {
      const svg = plot.querySelector("svg.main-svg");
      if (!svg) { say(`${plot.id} is not drawn`); continue; }
      const frame = plot.getBoundingClientRect();
      for (const text of plot.querySelectorAll("svg text")) {
        const box = text.getBoundingClientRect();
        if (!box.width || text.closest(".hoverlayer")) continue;
        const out = Math.max(frame.left - box.left, box.right - frame.right,
          frame.top - box.top, box.bottom - frame.bottom);
        if (out > 2) say(`${plot.id} cuts "${text.textContent}" by ${Math.round(out)} px`);
      }
      if (plot.querySelector(".legend")) say(`${plot.id} has a legend of its own`);
      const legend = plot.closest("figure").querySelector("ul.legend");
      const height = legend ? legend.getBoundingClientRect().height : 0;
      const share = height / (height + frame.height);
      if (share > LEGEND_SHARE) say(`${plot.id} has a legend of ${share.toFixed(2)}`);
    }
    for (const one of page.querySelectorAll("*")) {
      const box = one.getBoundingClientRect();
      if (!box.width || one.closest(".table-wrap, .dt-container, pre, .plot")) continue;
      if (box.right > innerWidth + 1) say(`${one.tagName} ends at ${Math.round(box.right)} px`);
    }
    for (const table of page.querySelectorAll("table.cases")) {
      const box = table.parentElement;
      if (box.scrollWidth > box.clientWidth + 1) say("has cases that are cut");
    }
    for (const table of page.querySelectorAll("table.data")) {
      if (table.closest("details:not([open])") || table.closest(".dt-scroll-head")) continue;
      if (!table.closest(".dt-container")) say("has a table without a library");
    }
  }
  return found;
}
"""


def test_only_figures_of_the_page_that_is_shown_are_drawn(browser: Any, report: Path) -> None:
    others = "[...document.querySelectorAll('section:not(.shown) .plot:has(svg)')].length"
    missing = "[...document.querySelectorAll('section.shown .plot:not(:has(svg))')].length"
    with opened(browser, report) as page:
        assert page.evaluate(others) == page.evaluate(missing) == 0
        page.click("nav a[href='#/trace']")
        page.wait_for_selector("[id='/trace'] .plot svg")
        assert page.evaluate(missing) == 0


def test_pages_have_addresses_and_the_way_back(windows: Windows, report: Path) -> None:
    with windows.at(report) as page:
        page.click("nav a[href='#/trace']")
        page.wait_for_selector("[id='/trace'] h2")
        page.go_back()
        page.wait_for_selector("[id='/answer'] h1")
        assert not page.is_visible("[id='/trace'] h2")
        page.goto(f"{report.as_uri()}#/trace/figure-node_use")
        page.wait_for_selector("#figure-node_use")
        assert page.is_visible("[id='/trace'] h2")
        assert not page.is_visible("[id='/answer'] h1")


@pytest.mark.slow
def test_paper_has_every_page(browser: Any, report: Path) -> None:
    with opened(browser, report) as page:
        page.emulate_media(media="print")
        hidden = "window.tracekit.pages.filter((one) => !one.offsetHeight).length"
        assert page.evaluate(hidden) == 0
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        undrawn = "[...document.querySelectorAll('figure .plot:not(:has(svg))')].length"
        assert page.evaluate(undrawn) == 0


@pytest.mark.slow
def test_without_scripts_every_page_and_table_is_there(browser: Any, report: Path) -> None:
    with opened(browser, report, java_script_enabled=False) as page:
        assert page.is_visible("[id='/answer'] h1")
        assert page.is_visible("[id='/words'] table.data")
        assert page.is_visible("[id='/again'] h2")


@pytest.mark.slow
def test_the_keyboard_is_enough(browser: Any, report: Path) -> None:
    with opened(browser, report) as page:
        page.keyboard.press("Tab")
        _focused(page, "Skip to the report")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()") in {"Dark", "Light"}
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-theme=dark]", state="attached")
        page.focus("nav a[href='#/policies']")
        page.keyboard.press("Enter")
        _focused(page, all_pages()["policies"].question)
        page.wait_for_selector("[id='/policies'] .dt-container")
        head = page.locator("[id='/policies'] .dt-scroll-head th").nth(1)
        head.locator(".dt-column-order").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("(head) => head.ariaSort", arg=head.element_handle())
        assert head.get_attribute("aria-sort") in {"ascending", "descending"}


def test_tables_filter_and_go_out_as_csv(windows: Windows, report: Path) -> None:
    with windows.at(report) as page:
        page.click("nav a[href='#/trace']")
        card = page.locator("[id='/trace'] .table-card", has_text="Defects, and")
        rows = card.locator(".dt-scroll-body tbody tr")
        rows.first.wait_for(state="attached")
        many = rows.count()
        card.locator("input[type=search]").fill("defect_000")
        assert 0 < rows.count() < many
        card.locator("input[type=search]").fill("")
        with page.expect_download() as download:
            card.locator("button", has_text="CSV").click()
        text = Path(download.value.path()).read_text()
        assert text.count("\n") >= many
        assert text.startswith('"Table","Defect"')


def test_a_wide_table_scrolls_in_its_box_beside_its_first_column(
    windows: Windows, report: Path
) -> None:
    with windows.at(report, 390) as page:
        page.goto(f"{report.as_uri()}#/policies")
        page.wait_for_selector("[id='/policies'] .dt-scroll-body tbody th")
        seen = page.evaluate(
            """() => {
              const boxes = [...document.querySelectorAll(".dt-scroll-body")];
              const body = boxes.find((one) => one.scrollWidth > Math.max(one.clientWidth, 1));
              const first = body.querySelector("tbody th");
              const before = first.getBoundingClientRect().left;
              body.scrollLeft = 200;
              return {
                wide: body.scrollWidth - body.clientWidth,
                moved: first.getBoundingClientRect().left - before,
                share: first.offsetWidth / body.clientWidth,
                page: document.documentElement.scrollWidth,
              };
            }"""
        )
    assert seen["wide"] > 0
    assert abs(seen["moved"]) < 1
    assert seen["share"] < 0.5
    assert seen["page"] <= 390


#: First and last cell of each column of numbers that lacks some, sorted up and down.
_SORTED_BOTH_WAYS = """
() => [...document.querySelectorAll("[id='/policies'] .dt-scroll-body table")].flatMap((table) => {
  const made = new tracekit.DataTable.Api(table);
  const shown = (at) => made.column(at, { order: "current" }).nodes().toArray()
    .map((cell) => cell.textContent.trim());
  return made.columns().indexes().toArray().filter((at) =>
    made.column(at).header().classList.contains("num") && shown(at).includes("\u2013")
    && new Set(shown(at)).size > 1,
  ).flatMap((at) => ["asc", "desc"].map((way) => {
    made.order([[at, way]]).draw();
    return [shown(at)[0], shown(at).at(-1), shown(at)];
  }));
})
"""


def test_cells_without_a_value_come_last_whichever_way_is_sorted(
    windows: Windows, report: Path
) -> None:
    with windows.at(report) as page:
        page.evaluate("location.hash = '#/policies'")
        page.wait_for_selector("[id='/policies'] .dt-container")
        result = page.evaluate(_SORTED_BOTH_WAYS)
    assert result
    for first, last, values in result:
        assert first != "\u2013", values
        assert last == "\u2013", values


def test_files_have_short_plain_names(windows: Windows, report: Path) -> None:
    with windows.at(report) as page:
        page.evaluate("location.hash = '#/policies'")
        page.wait_for_selector("[id='/policies'] .dt-container")
        names = page.evaluate(
            "[...document.querySelectorAll('table[data-name]')].map((one) => one.dataset.name)"
        )
    assert names
    assert [name for name in names if not re.fullmatch(r"[a-z0-9-]{1,40}", name)] == []


@pytest.mark.slow
def test_a_page_counts_as_loaded_when_its_figures_are_drawn(browser: Any, report: Path) -> None:
    """What prints a page, or takes its picture, does so once it is loaded."""
    page = browser.new_page()
    try:
        page.goto(f"{report.resolve().as_uri()}#/trace", wait_until="load")
        drawn = "document.querySelectorAll('section.shown .plot .main-svg').length"
        assert page.evaluate(drawn) > 0
    finally:
        page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_nodes_are_whole_on_the_page_and_in_what_is_taken_away(
    windows: Windows, report: Path, width: int
) -> None:
    """Nodes are switched off by this page: their names must be told apart, and copied whole."""
    going = [f"ip-192-168-123-{at}.eu-west-1.compute.internal" for at in range(239, 235, -1)]
    with windows.at(report, width) as page:
        page.evaluate("location.hash = '#/nodes'")
        card = page.locator("[id='/nodes'] .table-card", has_text="Which nodes go").first
        cells = card.locator(".dt-scroll-body tbody th")
        cells.first.wait_for()
        shown = cells.evaluate_all("(all) => all.map((one) => one.innerText.trim())")
        assert set(going) <= set(shown)
        room = """(all) => all.map((one) => one.getBoundingClientRect().right
            - one.querySelector("code").getBoundingClientRect().right)"""
        assert min(cells.evaluate_all(room)) >= 0
        with page.expect_download() as download:
            card.locator("button", has_text="CSV").click()
        lines = Path(download.value.path()).read_text().split()[1:]
        assert set(going) <= {line.split(",")[0].strip('"') for line in lines}


#: axe-core, asked for what breaks a rule, with every page in view and every table made. It takes
#: seconds for some hundred rows of a table or marks of a figure: of those beside each other that
#: differ in text and numbers alone, it is shown one.
AXE = """
async (rules) => {
  const looks = (one) =>
    [...one.attributes].map(({ name, value }) =>
      ["class", "style", "role", "scope", "tabindex"].includes(name) ? name + value : name);
  const removed = [];
  for (const list of document.querySelectorAll("tbody, svg g")) {
    const seen = new Set();
    for (const one of [...list.children]) {
      const inside = [one, ...one.querySelectorAll("*")];
      const key = inside.flatMap((each) => [each.tagName, ...looks(each)]).join();
      if (seen.has(key)) removed.push(one);
      seen.add(key);
    }
  }
  const back = removed.map((one) => [one, one.parentNode, one.nextSibling]).reverse();
  for (const one of removed) one.remove();
  document.documentElement.classList.remove("paged");
  const result = await axe.run(document, { resultTypes: ["violations"], ...rules });
  document.documentElement.classList.add("paged");
  for (const [one, parent, next] of back) parent.insertBefore(one, next);
  return result.violations.map((rule) => [
    rule.id, rule.nodes.slice(0, 4).map((node) => node.html.slice(0, 160))]);
}
"""
COLOURS_ALONE = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_and_no_rule_of_accessibility_is_broken(
    browser: Any, report: Path, width: int
) -> None:
    """Some things are shown in the narrowest alone, or in the widest: these are asked every rule.

    In dark the rules of colours alone have more to say; they are asked in the narrowest.
    """
    checker = resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    with opened(browser, report, width, bypass_csp=True) as page:
        page.add_script_tag(content=checker)
        for scheme, rules in (("light", {}), ("dark", COLOURS_ALONE)):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(LOOK.replace("LEGEND_SHARE", str(LEGEND_SHARE))) == []
            if width not in (WIDTHS[0], WIDTHS[-1]):
                break
            result = page.evaluate(AXE, rules)
            assert result == [], json.dumps(result, indent=1)
            if width == WIDTHS[-1]:
                break


@pytest.mark.slow
def test_the_button_copies_the_command_in_one_line(browser: Any, report: Path) -> None:
    granted = ["clipboard-read", "clipboard-write"]
    with opened(browser, report, 390, permissions=granted) as page:
        for command in page.locator("section.shown .command").all():
            command.locator(".copy").click()
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied == command.locator("pre").inner_text()
            assert "\n" not in copied


@pytest.mark.slow
def test_the_first_paint_of_a_large_report_is_quick(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_text(render_data(made_up(nodes=13_000, steps=1440, more=30)), "utf-8")
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    times: list[float] = []
    while len(times) < 3 and min(times, default=FIRST_PAINT_MS) >= FIRST_PAINT_MS:
        with opened(browser, path) as page:
            times.append(page.evaluate(paint))
    assert min(times) < FIRST_PAINT_MS
