"""Files whose tests share what is slow to make go to one process, which makes it once."""

from __future__ import annotations

from typing import Any

import pytest

#: How the paths of such files begin, or end.
_SHARED = ("tests/store/spark/", "tests/faults/")


def scope(path: str) -> str:
    """What stays in one process with the tests of this file: the file, or others with it."""
    same = (part for part in _SHARED if path.startswith(part) or path.endswith(part))
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
