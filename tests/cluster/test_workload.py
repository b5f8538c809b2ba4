"""What makes a workload impossible, said in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from replay_support import changed, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.resources import BASE
from tracekit.cluster.workload import nonzero

GOOD = workload([(100, 100), (50, 50)], [(0, 4000, 10, 10), (500, 2000, 60, 20)])

NO_USAGE = GOOD.use.values.copy()
NO_USAGE[1, 1, 1] = np.nan
ENDLESS = np.where(np.isnan(GOOD.use.values), np.nan, np.inf).astype(np.float32)

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a node twice": ({"nodes": {"ids": ("n", "n")}}, "node 'n' is there twice"),
    "a container twice": ({"containers": {"ids": ("c", "c")}}, "container 'c' is there twice"),
    "no containers": ({"containers": {"ids": ()}}, "the workload has no container"),
    "no capacity": (
        {"nodes": {"capacity": np.array([[100, 100], [50, 0]])}},
        "node 'n1' has memory_bytes 0, expected more than 0",
    ),
    "a negative request": (
        {"containers": {"request": np.array([[10, -1], [1, 1]])}},
        "container 'c0' requests -1 memory_bytes, expected 0 or more",
    ),
    "departure before arrival": (
        {"containers": {"departure_ms": np.array([4000, 400])}},
        "container 'c1' departs at 400 ms, expected after its arrival at 500 ms",
    ),
    "no usage while running": (
        {"use": {"values": NO_USAGE}},
        "container 'c1' uses 30 cpu_milli and nan memory_bytes at 1000 ms, expected numbers",
    ),
    "less than no usage": (
        {"use": {"values": -GOOD.use.values}},
        "container 'c0' uses -5 cpu_milli and -5 memory_bytes at 0 ms",
    ),
    "endless usage": ({"use": {"values": ENDLESS}}, "container 'c0' uses inf cpu_milli"),
    "a node's own use is not known": (
        {"use": {"background": GOOD.use.background * np.nan}},
        "node 'n0' uses nan cpu_milli and nan memory",
    ),
    "exchangeable without usage from the start": (
        {"containers": {"exchangeable": np.array([False, True])}},
        "container 'c1' uses nan cpu_milli",
    ),
    "out of order": (
        {"containers": {"arrival_ms": np.array([500, 0])}},
        "must be in order of arrival",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(name: str) -> None:
    change, message = BROKEN[name]
    with pytest.raises(TracekitError) as raised:
        changed(GOOD, **change)
    assert message in raised.value.what


def test_what_fits_no_node_is_found() -> None:
    assert GOOD.too_large().tolist() == []
    request = np.array([[10, 10], [60, 101]])
    assert changed(GOOD, containers={"request": request}).too_large().tolist() == [1]


def test_defaults_replace_only_what_is_not_stated() -> None:
    request = np.array([[0, 0], [0, 5]])
    stated = np.array([[False, False], [True, True]])
    assert nonzero(request, stated, BASE).tolist() == [[100, 200 * 2**20], [0, 5]]
