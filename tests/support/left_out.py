"""Slow tests that a run leaves out (``-m "not slow"``) are counted in one line, never silently."""

from __future__ import annotations

from typing import Any

import pytest

_COUNT = pytest.StashKey[int]()
_KEY = "tracekit_left_out"


def line(count: int) -> str:
    """What is said of tests that were left out."""
    return f"left out: {count} slow tests ('make check' runs them all)"


def pytest_configure(config: pytest.Config) -> None:
    """None yet."""
    config.stash[_COUNT] = 0


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count those that are marked slow; what else a user leaves out is his own business."""
    slow = sum(item.get_closest_marker("slow") is not None for item in items)
    if slow and "not slow" in items[0].config.getoption("markexpr"):
        items[0].config.stash[_COUNT] += slow


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of several tells its count to the one that prints; all collect the same tests."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_KEY] = session.config.stash[_COUNT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a process that ended."""
    count = getattr(node, "workeroutput", {}).get(_KEY, 0)
    node.config.stash[_COUNT] = max(node.config.stash[_COUNT], count)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many were left out, in the process that prints."""
    if config.stash[_COUNT]:
        terminalreporter.write_line(line(config.stash[_COUNT]))
