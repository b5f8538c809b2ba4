"""Samples are taken when something moves or somebody looks, and nobody can write to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from replay_support import STEP_MS, workload

from tracekit.policy.parse import parse_policy
from tracekit.policy.view.usage import History
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.samples import Samples


class Looking:
    """Looks back ``samples`` on what is ``delay_ms`` old."""

    def __init__(self, samples: int, delay_ms: int) -> None:
        self._samples, self._delay_ms = samples, delay_ms

    def metric_time_ms(self, now_ms: int) -> int:
        return now_ms - self._delay_ms

    def metric_samples(self) -> int:
        return self._samples


@given(
    some.lists(some.integers(1, 9), min_size=1, max_size=8),
    some.lists(some.tuples(some.integers(1, 6), some.integers(0, 5)), min_size=1, max_size=2),
)
def test_history_shows_each_reader_its_window_however_samples_come(
    stretches: list[int], looks: list[tuple[int, int]]
) -> None:
    load = workload([(10, 10)] * 2, [(0, 10**9, 1, 1, 0)], steps=sum(stretches))
    every = np.random.default_rng(0).uniform(size=(sum(stretches), 2, 2))
    readers = [Looking(samples, delay * STEP_MS) for samples, delay in looks]
    history, step, shown = History(readers, load), 0, []
    for stretch in stretches:
        steps = range(step, step + stretch)
        for step in steps:
            history.note(step, np.full((2, 2), step // 3))
        half = stretch // 2
        history.add(steps[:half], every[steps.start : steps.start + half])
        history.add(steps[half:], every[steps.start + half : steps.stop])
        step = steps.stop
        for reader, (samples, delay) in zip(readers, looks, strict=True):
            seen = history.usage(steps[-1] * STEP_MS + STEP_MS, reader)
            recorded = max(min(step, step - delay + 1), 0)
            shown.append(
                (seen.peak(0, samples), seen, every[max(recorded - samples, 0) : recorded])
            )
            assert seen.requested is None or (seen.requested == (recorded - 1) // 3).all()
    for peak, seen, window in shown:
        assert np.array_equal(seen.latest(1), window[-1, :, 1]) if len(window) else True
        assert np.array_equal(peak, window[..., 0].max(axis=0)) if len(window) else True
        assert seen.samples == len(window)


def test_steps_without_a_move_are_neither_recounted_nor_sampled_alone() -> None:
    load = workload([(100, 100)], [(2 * STEP_MS, 10**9, 1, 1, 0)], steps=50)
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0))
    counts, stretches = [], []
    count, sample = engine.state.samples.sampler.count, engine.state.samples.sampler.sample
    sampler = engine.state.samples.sampler
    sampler.count = lambda *given: counts.append(1) or count(*given)  # type: ignore[func-returns-value, method-assign]
    sampler.sample = lambda *given: stretches.append(given[2]) or sample(*given)  # type: ignore[func-returns-value, method-assign]
    engine.run()
    assert stretches == [range(2), range(2, 50)]
    assert len(counts) == 2  # after the move, and at the end


def test_a_lost_container_is_seen_at_the_end() -> None:
    load = workload([(100, 100)], [(0, 10**9, 1, 1, 0)], steps=5)
    engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0))

    def lose() -> None:
        engine.state.cluster.amounts[1, 0, 0] = 7

    with pytest.raises(AssertionError, match="requested differs"):
        engine.run(lose)


def test_a_policy_cannot_write_to_what_measures_are_taken_of() -> None:
    load = workload([(10, 10)], [(0, 4000, 1, 1)])
    reader, requested = Looking(2, 0), np.array([[1, 1]])
    samples = Samples(load, [reader])
    samples.note(0, 0, 0, requested, 0)
    samples.take(np.array([True]), np.array([0]))
    shown = samples.history.usage(STEP_MS, reader).requested
    assert shown is not None
    assert not shown.flags.writeable
    requested[:] = 7
    assert shown.tolist() == [[1, 1]]
