"""A small store and a run of it, made for real and shared by the tests of the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_support import BROWSER, Windows
from report_answers_support import widest_answer
from report_support import HOSTILE, STEP_MS, made_up
from tests_support import NODE_HEADER, TraceFolder

from tracekit.commands.replay import replay
from tracekit.intake.ingest import ingest
from tracekit.report.render import render_data


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of hand-made rows; its only node of zone A has a hostile id."""
    folder = tmp_path_factory.mktemp("report")
    traces = TraceFolder.written(folder / "traces")
    lines = [
        f"{step * STEP_MS},{HOSTILE},{0.4 + 0.01 * (step % 7)!r},{0.8 - 0.02 * (step % 7)!r}"
        for step in range(14)
    ]
    traces.write("Node_1.csv", NODE_HEADER, lines)
    ingest(traces.path, folder / "store")
    return folder / "store"


@pytest.fixture(scope="session")
def run_folder(store: Path) -> Path:
    """A run of that store under two policies, beside it."""
    out = store.parent / "run"
    replay(store, ["first_fit", "least_allocated"], out=out, seed=1)
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without windows."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def windows(browser: Any) -> Windows:
    """Windows of that browser that stay open from test to test."""
    return Windows(browser)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all that there may be."""
    path = tmp_path_factory.mktemp("browser") / "report.html"
    data = made_up()
    data.answer = widest_answer()
    path.write_text(render_data(data), encoding="utf-8")
    return path
