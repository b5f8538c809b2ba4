from __future__ import annotations

import pytest

from tracekit.intake.fetch.plan import plan
from tracekit.intake.fetch.run import Meter


class Recorder:
    """A task that adds up its progress."""

    amount = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        del note
        self.amount += amount


def test_each_file_counts_with_its_usual_size_whatever_its_real_one() -> None:
    task = Recorder()
    one, two = plan("ctm21", tables=["resource"], parts="0-1")
    meter = Meter(task, 2)
    meter.reached(one, 0, 1000)
    meter.reached(one, 500, 1000)
    assert task.amount == pytest.approx(one.usual_bytes / 2)
    meter.reached(one, 0, 1000)
    assert task.amount == 0
    meter.reached(two, 300, None)
    assert task.amount == 0
    meter.finished(one)
    meter.finished(two)
    assert task.amount == pytest.approx(one.usual_bytes + two.usual_bytes)


def test_a_file_that_did_not_come_counts_with_what_came() -> None:
    """Without a network it said that all of 503 MB came in half a second."""
    task = Recorder()
    one, two = plan("ctm21", tables=["resource"], parts="0-1")
    meter = Meter(task, 2)
    meter.finished(one, whole=False)
    assert task.amount == 0
    meter.reached(two, 500, 1000)
    meter.finished(two, whole=False)
    assert task.amount == pytest.approx(two.usual_bytes / 2)
