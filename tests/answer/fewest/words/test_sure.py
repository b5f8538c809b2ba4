"""How sure a number of nodes is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from shrink_support import EVEN, shrunk

from tracekit.answer.fewest.facts import facts_of
from tracekit.answer.fewest.words.sure import sure
from tracekit.answer.fewest.words.told import told
from tracekit.replay.workload.circumstances import under
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


def test_the_loss_of_another_node_than_the_drawn_one_is_not_covered() -> None:
    """The seed drew one of the nodes, no text named it, and others gave other answers."""
    load = under(EVEN, {"lost": "1@50%"}, np.random.default_rng(0))
    assert load.losses is not None
    lost = load.node_ids[int(load.losses.node[0])]
    about = facts_of(load, EVEN)
    assert [(one["node"], one["drawn"]) for one in about["lost"]] == [(lost, True)]
    assert any(f"1 node is lost: {lost} after " in one for one in about["told"])
    study = shrunk(EVEN)
    changed = {**study.about, "workload": {**study.about["workload"], "lost": about["lost"]}}
    found = told(dataclasses.replace(study, about=changed))
    assert found is not None
    assert f", the loss of another node than {lost}, and another choice of nodes." in sure(found)
