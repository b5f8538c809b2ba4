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
WIDTHS = (390, 768, 1440)
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
    """The report in a window of this width; what its console said is an error."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, **more
    )
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    if more.get("java_script_enabled", True):
        page.wait_for_selector("html[data-ready=yes]", state="attached")
    yield page
    context.close()
    # plotly gives up on the last pixel of a margin: nothing is wrong with the figure
    assert [text for text in said if "auto-margin redraws" not in text] == []
