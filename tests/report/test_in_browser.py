"""The report in a real browser: it draws, its pages work, it is accessible, the console is silent.

Skipped where no Chromium is installed.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from report_support import made_up

from tracekit.report.render import render_data

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in _NAMES if (found := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: none of {', '.join(_NAMES)} is installed"
)


def opened(
    page: Path, *, width: int = 1200, dark: bool = False, theme: str = ""
) -> tuple[str, str]:
    """The document after its scripts ran, and what the console said."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={page.parent / 'profile'}",
            "--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=15000",
            f"--window-size={width},2000", *(["--force-dark-mode"] if dark else []),
            "--dump-dom", page.as_uri() + theme,
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    said = [
        line
        for line in done.stderr.splitlines()
        # plotly gives up on the last pixel of a margin: nothing is wrong with the figure
        if "CONSOLE" in line and "auto-margin redraws" not in line
    ]
    return done.stdout, "\n".join(said)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "report.html"
    path.write_text(render_data(made_up()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def wide(page: Path) -> tuple[str, str]:
    return opened(page)


def test_the_console_is_silent(wide: tuple[str, str]) -> None:
    assert wide[1] == ""


def test_every_figure_is_drawn(wide: tuple[str, str]) -> None:
    figures = re.findall(r'data-plot="([\w-]+)"', wide[0])
    assert len(figures) > 10
    for name in figures:
        drawn = re.search(rf'<div class="plot[^"]*" id="{name}".*?main-svg', wide[0], re.DOTALL)
        assert drawn, name


def test_two_policies_are_set_side_by_side(wide: tuple[str, str]) -> None:
    body = re.search(r'<tbody id="two-measures">(.*?)</tbody>', wide[0], re.DOTALL)
    assert body is not None
    assert body[1].count("<tr>") >= 3
    assert re.search(r'id="two-said"[^>]*>Of \d+ measures ', wide[0])
    for name in ("course", "scatter", "nodes", "services"):
        assert re.search(rf'id="two-{name}-plot".*?main-svg', wide[0], re.DOTALL), name


def test_tables_can_be_sorted_and_buttons_are_shown(wide: tuple[str, str]) -> None:
    assert re.search(r'<th scope="col"[^>]*><button type="button">', wide[0])
    assert re.search(r'<button type="button" id="theme" class="button"(?![^>]*hidden)', wide[0])


@pytest.mark.parametrize("dark", [False, True])
def test_a_narrow_window_draws_as_well(page: Path, dark: bool) -> None:
    document, said = opened(page, width=400, dark=dark)
    assert said == ""
    assert document.count("main-svg") > 10


#: axe-core, asked for what breaks a rule; its answer takes the place of the page.
ASK = """
setTimeout(() => axe.run(document, {resultTypes: ["violations"]}).then((result) => {
  const answer = document.createElement("pre");
  answer.id = "violations";
  answer.textContent = JSON.stringify(result.violations.map((rule) => [
    rule.id, rule.nodes.map((node) => node.html.slice(0, 200))]));
  document.body.replaceChildren(answer);
}), 3000);
"""


def violations(page: Path, *, width: int = 1200, theme: str = "") -> list[list[object]]:
    """The rules of axe-core that a page breaks, each with the elements that break it."""
    checker = resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    text = page.read_text("utf-8")
    # the page's own policy lets no script in but its own
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    checked = page.with_name(f"checked-{width}{theme.strip('#')}.html")
    scripts = f"<script>{checker}</script><script>{ASK}</script></body>"
    checked.write_text(text.replace("</body>", scripts), "utf-8")
    document, _ = opened(checked, width=width, theme=theme)
    answer = re.search(r'<pre id="violations">(.*?)</pre>', document, re.DOTALL)
    assert answer, "axe-core gave no answer"
    found: list[list[object]] = json.loads(html.unescape(answer[1]))
    return found


@pytest.mark.parametrize("theme", ["#light", "#dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_no_rule_of_accessibility_is_broken(page: Path, width: int, theme: str) -> None:
    assert violations(page, width=width, theme=theme) == []


def test_what_is_not_accessible_is_found(tmp_path: Path) -> None:
    page = tmp_path / "poor.html"
    page.write_text("<html><body><main><h1>x</h1><img src=''></main></body></html>", "utf-8")
    assert {rule for rule, _ in violations(page)} >= {"image-alt", "html-has-lang"}
