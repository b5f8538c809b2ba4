"""What a session of tests does besides: files in company, slow tests left out, skips judged."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests_support import SHARED

#: How the paths of files begin, or end, whose tests share what is slow to make: one process has
#: them all and makes it once.
IN_COMPANY = ("tests/store/spark/", "tests/faults/")
_WITHOUT_SHARED = "without shared:"
_COUNT = pytest.StashKey[int]()
_KEY = "tracekit_left_out"


def scope(path: str) -> str:
    """What stays in one process with the tests of this file: the file, or others with it."""
    same = (part for part in IN_COMPANY if path.startswith(part) or path.endswith(part))
    return next(same, path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out tests by file (``--dist loadfile``), and some files together."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - here only with xdist

    class Together(LoadFileScheduling):  # type: ignore[misc, unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return scope(super()._split_scope(nodeid))

    return Together(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """No test is left out yet."""
    config.stash[_COUNT] = 0


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count those that are marked slow; what else a user leaves out is his own business."""
    slow = sum(item.get_closest_marker("slow") is not None for item in items)
    if slow and "not slow" in items[0].config.getoption("markexpr"):
        items[0].config.stash[_COUNT] += slow


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a process that ended; all of them collect the same tests."""
    count = getattr(node, "workeroutput", {}).get(_KEY, 0)
    node.config.stash[_COUNT] = max(node.config.stash[_COUNT], count)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many were left out, in the process that prints."""
    if config.stash[_COUNT]:
        count = config.stash[_COUNT]
        terminalreporter.write_line(f"left out: {count} slow tests ('make check' runs them all)")


def allowed(text: str, *, shared: bool) -> tuple[str, ...]:
    """Starts of reasons that a list allows; those after 'without shared:' only without it."""
    stripped = (line.strip() for line in text.splitlines())
    lines = [line for line in stripped if line and not line.startswith("#")]
    end = lines.index(_WITHOUT_SHARED) if _WITHOUT_SHARED in lines else len(lines)
    return tuple(lines[:end] if shared else [*lines[:end], *lines[end + 1 :]])


def unexpected(reasons: list[str], starts: tuple[str, ...]) -> Counter[str]:
    """How often each reason was given that no start allows."""
    return Counter(one for one in reasons if not one.startswith(starts))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run where a test was skipped for a reason that is not on a list.

    ``TRACEKIT_SKIPS`` names the list; without it any skip is fine, as on a contributor's machine.
    A process of several passes on how many tests it left out.
    """
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_KEY] = session.config.stash[_COUNT]
        return
    path = os.environ.get("TRACEKIT_SKIPS")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not path or reporter is None:
        return
    skipped = [
        one.longrepr[2].removeprefix("Skipped: ") for one in reporter.stats.get("skipped", [])
    ]
    starts = allowed(Path(path).read_text(encoding="utf-8"), shared=SHARED.is_dir())
    for reason, count in unexpected(skipped, starts).items():
        reporter.write_line(f"\nskipped {count} times, not on {path}: {reason}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
