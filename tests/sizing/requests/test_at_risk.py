"""Nobody at risk is cut: the request stays in frames, sums, replays and the figure."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from plain_requests import random_use

from tracekit.base.arrays import FloatArray
from tracekit.base.study import Study
from tracekit.sizing.policies import parse_sizing_policy
from tracekit.sizing.requests.judge import KEPT, judged, spared
from tracekit.sizing.requests.study import requests_of
from tracekit.sizing.use import RecordedUse

WORKLOAD = {"name": "store", "store": "a store", "made_up": False}
POLICY = "percentile_request"


def rising(at_noon: float = 3.0) -> RecordedUse:
    """Three services; the first uses more in the judged half, more than it requests in a part."""
    use = random_use(2)
    steps = use.values.shape[1]
    values = np.full_like(use.values, np.nan)
    values[0], values[1] = 1.0, 1e9
    first = use.service[use.measured] == 0
    values[0, steps // 2 :: 3, first] = at_noon
    return dataclasses.replace(
        use,
        values=values,
        request=np.tile((2.0, 2e9), (len(use.service), 1)),
        reserved=np.tile((2.0, 2e9), (len(use.service), 1)),
    )


@functools.cache
def study() -> Study:
    return requests_of(rising(), [parse_sizing_policy(POLICY)], workload=WORKLOAD)


@pytest.mark.parametrize(
    ("request_cores", "kept"),
    [(1.15, True), (1.999, True), (2.0, False), (2.5, False), (3.5, False)],
)
def test_a_lower_request_that_is_exceeded_too_often_is_not_recommended(
    request_cores: float, kept: bool
) -> None:
    use = rising()
    given: FloatArray = np.full((3, 2), (request_cores, 1.5e9))
    found = spared(given, use, np.full((3, 2), (2.0, 2e9)), 0.05)
    assert found.kept.tolist() == [[kept, False], [False, False], [False, False]]
    assert np.isnan(found.request).tolist() == found.kept.tolist()
    again = judged(use, found.request)
    for name in ("above", "asked", "excess"):
        assert (getattr(found.found, name) == getattr(again, name)).all()
    exceeded = judged(use, given)
    share = float(exceeded.above.sum(axis=0)[0, 0] / exceeded.steps.sum(axis=0)[0, 0])
    assert not spared(given, use, np.full((3, 2), (2.0, 2e9)), share).kept.any()


def test_who_has_no_request_gets_the_first_one_though_it_is_exceeded() -> None:
    found = spared(np.full((3, 2), (1.15, 1.5e9)), rising(), np.full((3, 2), np.nan), 0.05)
    assert not found.kept.any()


def test_the_kept_request_is_that_of_frames_and_sums() -> None:
    rows = study().frames["services"].filter(policy=POLICY, resource="cpu")
    first = rows.filter(service="a").row(0, named=True)
    assert first["recommended"] is None
    assert (first["freed"], first[KEPT], first["at_risk"]) == (0.0, True, True)
    assert first["reserved_then"] == first["reserved_now"] == 2.0
    others = rows.filter(rows["service"] != "a")
    assert (others["freed"] > 0).all()
    assert not others[KEPT].any()
    total = study().frames["policies"].filter(policy=POLICY, resource="cpu").row(0, named=True)
    assert total["freed"] == pytest.approx(rows["freed"].sum())
    # its memory is not at risk, and is lowered
    memory = study().frames["services"].filter(policy=POLICY, resource="memory", service="a")
    assert memory["freed"][0] > 0
