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
    task, now = Recorder(), [0.0]
    one, two = plan("ctm21", tables=["resource"], parts="0-1")
    meter = Meter(task, 2, clock=lambda: now[0])
    meter.reached(one, 0, 1000)
    now[0] = 2.0
    meter.reached(one, 500, 1000)
    assert task.amount == pytest.approx(one.usual_bytes / 2)
    assert meter.rate_bytes_per_s() == pytest.approx(250)
    meter.reached(one, 0, 1000)
    assert task.amount == 0
    meter.reached(two, 300, None)
    assert task.amount == 0
    meter.finished(one)
    meter.finished(two)
    assert task.amount == pytest.approx(one.usual_bytes + two.usual_bytes)


def test_the_rate_is_that_of_the_last_seconds_and_resumed_bytes_do_not_count() -> None:
    now = [0.0]
    (one,) = plan("ctm21", tables=["node"])
    meter = Meter(Recorder(), 1, clock=lambda: now[0])
    meter.reached(one, 5_000_000, 9_000_000)
    now[0] = 4.0
    meter.reached(one, 5_004_000, 9_000_000)
    assert meter.rate_bytes_per_s() == pytest.approx(1000)
    now[0] = 12.0
    assert meter.rate_bytes_per_s() == pytest.approx(500)
    now[0] = 30.0
    assert meter.rate_bytes_per_s() == 0


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
