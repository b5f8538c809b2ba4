"""Skipped tests where nothing may be missing: every reason is on a list, or the run fails.

``TRACEKIT_SKIPS`` names the list; without it any skip is fine, as on a contributor's machine.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from tests_support import SHARED

_WITHOUT_SHARED = "without shared:"


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
    """Fail the run where a test was skipped for a reason that is not on the list."""
    path = os.environ.get("TRACEKIT_SKIPS")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not path or reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = [
        one.longrepr[2].removeprefix("Skipped: ") for one in reporter.stats.get("skipped", [])
    ]
    starts = allowed(Path(path).read_text(encoding="utf-8"), shared=SHARED.is_dir())
    for reason, count in unexpected(skipped, starts).items():
        reporter.write_line(f"\nskipped {count} times, not on {path}: {reason}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
