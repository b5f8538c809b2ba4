"""Takes the pictures of a report that the docs show.

Give it a report and the folder of the pictures:
``python tests/support/report_screenshots.py demo/report.html docs/report``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

#: Page of the report, width and height of the window.
SHOTS = (
    ("answer", 1280, 900),
    ("nodes", 1280, 1000),
    ("answer", 390, 844),
)


def take(report: Path, folder: Path, browser: str) -> list[Path]:
    """The pictures, one per page and width."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, width, height in SHOTS:
            page = opened.new_page(viewport={"width": width, "height": height})
            page.goto(f"{report.resolve().as_uri()}#/{name}")
            page.wait_for_selector("html[data-ready=yes]", state="attached")
            page.wait_for_timeout(500)
            made.append(folder / f"{name}-{width}.png")
            page.screenshot(path=made[-1])
        opened.close()
    return made


if __name__ == "__main__":
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        sys.exit("error: no Chromium is installed")
    for picture in take(Path(sys.argv[1]), Path(sys.argv[2]), found):
        sys.stdout.write(f"{picture}\n")
