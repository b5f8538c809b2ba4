"""How sure a number of nodes is."""

from __future__ import annotations

import dataclasses

import pytest
from shrink_support import EVEN, shrunk

from tracekit.replay.studies.shrink.facts import facts_of
from tracekit.replay.studies.shrink.words.sure import sure
from tracekit.replay.studies.shrink.words.told import told
from tracekit.units import MS_PER_DAY


def test_the_last_sample_has_its_step_too() -> None:
    """144 samples of 10 minutes hold a daily peak."""
    assert facts_of(EVEN, EVEN)["span_ms"] == len(EVEN.times_ms) * EVEN.step_ms
    study = shrunk(EVEN)
    about = {**study.about, "workload": {**study.about["workload"], "span_ms": MS_PER_DAY}}
    found = told(dataclasses.replace(study, about=about))
    assert found is not None
    assert "(24 h: too short to hold a weekly peak)" in sure(found)


@pytest.mark.parametrize(("arrivals", "timed"), [("assumed", False), ("recorded", True)])
def test_a_source_without_times_is_not_too_short_for_a_peak(arrivals: str, *, timed: bool) -> None:
    known = {"use of containers": "assumed", "arrivals": arrivals}
    found = told(shrunk(dataclasses.replace(EVEN, quantities=known)))
    assert found is not None
    said = sure(found)
    assert "load beyond that of the trace" in said
    assert ("too short to hold a daily peak" in said) == timed
