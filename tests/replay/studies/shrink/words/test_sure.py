"""How sure a number of nodes is."""

from __future__ import annotations

import dataclasses

import pytest
from shrink_support import EVEN, shrunk

from tracekit.replay.studies.shrink.words.sure import sure
from tracekit.replay.studies.shrink.words.told import told


@pytest.mark.parametrize(("arrivals", "timed"), [("assumed", False), ("recorded", True)])
def test_a_source_without_times_is_not_too_short_for_a_peak(arrivals: str, *, timed: bool) -> None:
    known = {"use of containers": "assumed", "arrivals": arrivals}
    found = told(shrunk(dataclasses.replace(EVEN, quantities=known)))
    assert found is not None
    said = sure(found)
    assert "load beyond that of the trace" in said
    assert ("too short to hold a daily peak" in said) == timed
