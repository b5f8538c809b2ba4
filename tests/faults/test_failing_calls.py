"""Every call on files fails in turn: some points of each command; ``make fuzz`` tries all.

``make test`` tries the points of one command that is quick.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_loop import ERRORS, SCENARIOS, Loop, Scenario
from forks import Fault, failing_calls, shared

#: Points of one command that the small form tries.
_POINTS = 3

#: The command whose points are tried by ``make test`` too.
_QUICK = "ingest-anew"

pytestmark = pytest.mark.skipif(failing_calls() is None, reason="no C compiler, or not Linux")


def _marked(scenario: Scenario) -> object:
    marks = () if scenario.name == _QUICK else (pytest.mark.slow,)
    return pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [_marked(scenario) for scenario in SCENARIOS])
def test_a_failing_call_loses_nothing(scenario: Scenario, tmp_path: Path) -> None:
    loop = Loop(scenario, tmp_path, shared(faults=True))
    share = _POINTS / sum(len(sites) for sites in loop.sites.values())
    points = list(loop.points(ERRORS, share=share))
    assert len(points) >= 3
    losses = [loop.try_point(point) for point in points]
    assert [str(loss) for loss in losses if loss] == []


@pytest.mark.slow
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
