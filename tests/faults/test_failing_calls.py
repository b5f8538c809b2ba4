"""Calls on files, the power and memory fail, each at some points of a command.

``make fuzz`` tries every call, and many more moments and allocations.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_loop import ERRORS, SCENARIOS, Loop, Scenario, fetching
from fetch_support import NODE, archive_bytes, serving
from forks import Fault, failing_calls, shared
from power_loss import ENDED

#: Calls, images of the disk, and allocations that are tried of each command.
_CALLS, _IMAGES, _ALLOCATIONS = 3, 5, 2

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(failing_calls() is None, reason="no C compiler, or not Linux"),
]


def _lost_with_the_power(loop: Loop) -> list[str]:
    power = loop.power_points(_IMAGES)
    assert (ENDED, "synced") in power
    return [str(loss) for loss in loop.try_power(power) if loss]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_a_failure_loses_nothing(scenario: Scenario, tmp_path: Path) -> None:
    loop = Loop(scenario, tmp_path, shared(faults=True))
    share = _CALLS / sum(len(sites) for sites in loop.sites.values())
    calls = list(loop.points(ERRORS, share=share))
    assert len(calls) >= _CALLS
    points = [*calls, *loop.allocation_points(_ALLOCATIONS)]
    losses = [str(loss) for one in points if (loss := loop.try_point(one))]
    assert losses + _lost_with_the_power(loop) == []


def test_what_was_fetched_is_there_after_the_power_goes(tmp_path: Path) -> None:
    with serving({NODE: archive_bytes(300_000)}) as mirror:
        loop = Loop(fetching(mirror.base_url), tmp_path, shared(faults=True))
        assert _lost_with_the_power(loop) == []


def test_a_call_is_counted_and_fails(tmp_path: Path) -> None:
    """The library sees the calls, and the one that is asked for fails: the loop can fail."""
    forks = shared(faults=True)
    (tmp_path / "Node_0.csv").write_text(",timestamp,nodeid,node_cpu_usage,node_memory_usage\n")
    list_nothing = ("list", "policies")
    undisturbed = forks.run(*list_nothing, folder=tmp_path, fault=Fault())
    assert undisturbed.calls == 0
    ingest = ("ingest", "Node_0.csv", "store", "--jobs", "1")
    reading = forks.run(*ingest, folder=tmp_path, fault=Fault(at=1, error=5, reading=True))
    assert reading.code == 2
    assert "Node_0.csv" in reading.what
    killed = forks.run(*ingest, folder=tmp_path, fault=Fault(at=1, error=0, reading=True))
    assert killed.code == -9
