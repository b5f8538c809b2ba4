"""The report in a real browser: it draws, its pages work, and the console stays silent.

Skipped where no Chromium is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from report_support import made_up

from tracekit.report.render import render_data

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in _NAMES if (found := shutil.which(name))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser: none of {', '.join(_NAMES)} is installed"
)


def opened(page: Path, *, width: int = 1200, dark: bool = False) -> tuple[str, str]:
    """The document after its scripts ran, and what the console said."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={page.parent / 'profile'}",
            "--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=15000",
            f"--window-size={width},2000", *(["--force-dark-mode"] if dark else []),
            "--dump-dom", page.as_uri(),
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
