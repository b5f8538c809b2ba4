"""A browser for tests of pages, where one is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in _NAMES if (found := shutil.which(name))), None)
WIDTHS = (390, 768, 1024, 1280, 1440)
#: Of tests that need it: skipped where no Chromium is installed.
IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason=f"no browser: none of {', '.join(_NAMES)} is installed"
    ),
]


@contextmanager
def opened(
    browser: Any,
    report: Path,
    width: int = 1440,
    scheme: str = "light",
    height: int = 900,
    **more: Any,
) -> Iterator[Any]:
    """The report in a new window of this width; what its console said is an error."""
    size = {"width": width, "height": height}
    context = browser.new_context(viewport=size, color_scheme=scheme, **more)
    page, message = _loaded(context, report, scripts=more.get("java_script_enabled", True))
    yield page
    context.close()
    _nothing_said(message)


def _loaded(context: Any, report: Path, *, scripts: bool = True) -> tuple[Any, list[str]]:
    """A page of a report, and what its console will have said."""
    page, lines = context.new_page(), []
    page.on("console", lambda message: lines.append(message.text))
    page.on("pageerror", lambda error: lines.append(str(error)))
    page.goto(report.as_uri())
    if scripts:
        page.wait_for_selector("html[data-ready=yes]", state="attached")
    return page, lines


def _nothing_said(expected: list[str]) -> None:
    # plotly gives up on the last pixel of a margin: nothing is wrong with the figure
    assert [text for text in expected if "auto-margin redraws" not in text] == []


class Windows:
    """Windows that stay open, one for each report and width: to load a report takes seconds.

    For tests that do not mind what others did on the pages they do not look at.
    """

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._open: dict[tuple[Path, int], tuple[Any, list[str]]] = {}

    @contextmanager
    def at(self, report: Path, width: int = 1440) -> Iterator[Any]:
        """The report in its window, at its first page; what its console said is an error."""
        if (report, width) not in self._open:
            context = self._browser.new_context(viewport={"width": width, "height": 900})
            self._open[report, width] = _loaded(context, report)
        page, message = self._open[report, width]
        page.evaluate("location.hash = '#/answer'")
        page.wait_for_function("tracekit.shown() === tracekit.pages[0]")
        page.evaluate("scrollTo(0, 0)")
        yield page
        _nothing_said(message)
