"""Samplers add up as a loop over containers does, and what measures them is one to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import STEP_MS, Row, changed, workload

from tracekit.cluster.workload import Workload
from tracekit.policy.parse import parse_policy
from tracekit.policy.view.sampled import Sampled, Stretch
from tracekit.policy.view.usage import History
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.samples import Samples
from tracekit.replay.engine.sampling import PlainSampler, Sampler
from tracekit.replay.engine.steps import measure_steps
from tracekit.replay.fast.sampling import CompiledSampler

STEPS = 48
SAMPLERS: list[Callable[[Workload], Sampler]] = [PlainSampler, CompiledSampler]


@some.composite
def workloads(draw: some.DrawFn) -> Workload:
    """Some in another order than their usage, which nobody may write to."""
    nodes = draw(some.integers(1, 300))
    containers = draw(some.integers(1, 40))
    rng = np.random.default_rng(draw(some.integers(0, 2**32)))
    rows: list[Row] = [(0, 10**9, 3 * at, at, 0) for at in range(containers)]
    sizes = [(int(cpu), 7) for cpu in rng.integers(1, 50, nodes)]
    load = workload(sizes, rows, steps=STEPS)
    usage = rng.uniform(0, 20, load.use.values.shape).astype(np.float32)
    usage.flags.writeable = False
    background = rng.uniform(0, 9, (2, STEPS, nodes)).astype(np.float32)
    column = rng.permutation(containers) if draw(some.booleans()) else None
    return changed(load, use={"values": usage, "background": background, "column": column})


def by_loop(load: Workload, running: np.ndarray, node: np.ndarray, step: int) -> np.ndarray:
    used = np.zeros((load.nodes.count, 2))
    for at in np.flatnonzero(running):
        used[node[at]] += load.use.at(step)[:, at]
    return load.use.background[:, step].T + used


@pytest.mark.parametrize("make", SAMPLERS)
@settings(max_examples=30)
@given(workloads(), some.lists(some.integers(1, 12), min_size=1, max_size=4), some.integers(0, 99))
def test_samplers_do_as_a_loop_does(
    make: Callable[[Workload], Sampler], load: Workload, stretches: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sampler, expected, step = make(load), [], 0
    capacity = load.nodes.capacity[:, :2].astype(np.float64)
    for stretch in stretches:
        running = rng.uniform(size=load.containers.count) < 0.7
        node = rng.integers(0, load.nodes.count, load.containers.count)
        parts = list(sampler.sample(running, node, range(step, step + stretch)))
        counted = sampler.count(running, node)
        requested = np.zeros_like(load.containers.request[:1].repeat(load.nodes.count, axis=0))
        np.add.at(requested, node[running], load.containers.request[running])
        assert np.array_equal(counted.requested, requested)
        assert np.array_equal(
            counted.containers, np.bincount(node[running], minlength=load.nodes.count)
        )
        for fractions in np.concatenate(parts):
            used = by_loop(load, running, node, step)
            assert np.array_equal(fractions, used / capacity)
            at = np.flatnonzero(running)
            sampled = Sampled(
                load=load,
                stretches=[Stretch(1, at, node[at], step)],
                fractions=fractions[None],
                add_up=partial(np.expand_dims, used, 0),
            )
            assert np.array_equal(sampled.requested[0], counted.requested)
            expected.append(measure_steps(sampled))
            step += 1
    for name, column in sampler.measures().items():
        assert np.array_equal(
            column, np.concatenate([row[name] for row in expected]), equal_nan=True
        ), name


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
            known = max(min(step, step - delay + 1), 0)
            shown.append((seen.peak(0, samples), seen, every[max(known - samples, 0) : known]))
            assert seen.requested is None or (seen.requested == (known - 1) // 3).all()
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
    samples.note(0, 0, 0, requested)
    samples.take(np.array([True]), np.array([0]))
    shown = samples.history.usage(STEP_MS, reader).requested
    assert shown is not None
    assert not shown.flags.writeable
    requested[:] = 7
    assert shown.tolist() == [[1, 1]]
