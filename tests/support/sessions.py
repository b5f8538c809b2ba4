"""Which files of tests share a process, and for which reasons CI lets a test be skipped."""

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
    """
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
