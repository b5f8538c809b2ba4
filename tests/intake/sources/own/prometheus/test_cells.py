"""No sample of a series is lost, and no container of a pod left out, whenever each was scraped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes_support import written
from reading_support import read
from series_support import (
    CPU,
    FORMS,
    MEMORY,
    MS,
    NAME,
    START,
    Made,
    Sample,
    amounts_of,
    as_dump,
    as_range,
    of_pod,
)

Form = Callable[[Sequence[Made]], str]
#: Time in ms and value of the samples of a container.
Counted = list[tuple[int, float]]
_SILENT_MS = 300_000
RULE = "node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate"


def _rows(form: Form, name: str, made: Sequence[Made]) -> dict[int, float]:
    """The amounts of the pod that ``of_pod`` names, by time."""
    with TemporaryDirectory() as folder:
        found = read(NAME, written(Path(folder) / name, form(made)))
    assert found.reasons == []
    rows = [
        (int(str(time)), float(str(amount)))
        for time, pod, _, amount, _ in amounts_of(found)
        if pod == "default/web-1"
    ]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def _step_ms(containers: Sequence[Counted]) -> int:
    """The distance of at least half of those that most are alike to, else the mean of these."""
    apart = sorted(round((b[0] - a[0]) / MS) for one in containers for a, b in pairwise(one))

    def alike(one: int) -> list[int]:
        return [other for other in apart if abs(other - one) * 3 <= one]

    some = alike(max(sorted(set(apart)), key=lambda one: len(alike(one))))
    most = max(sorted(set(some)), key=some.count)
    return max(1, most if 2 * some.count(most) >= len(some) else round(sum(some) / len(some))) * MS


def _ends(times: Sequence[int], step: int) -> list[int]:
    """The end of the step in which each sample stands."""
    places = sorted(time % step for time in times)
    free = [(places[0] + step - places[-1], places[0])]
    free += [(b - a, b) for a, b in pairwise(places)]
    begins = max(free, key=lambda one: one[0])[1]
    late = sorted((time - begins) % step for time in times)
    usual = begins + late[(len(late) - 1) // 2]
    return [(time - begins) // step * step + math.ceil(usual / step) * step for time in times]


def _of_container(samples: Counted, step: int) -> tuple[dict[int, float], set[int]]:
    """What it uses in each step, and the steps in which it has a sample of its own."""
    times = [time for time, _ in samples[1:]]
    steps: dict[int, list[tuple[float, int, int]]] = {}
    for at, before, now in zip(_ends(times, step), samples, samples[1:], strict=False):
        passed = now[0] - before[0]
        steps.setdefault(at, []).append((now[1] - before[1], passed, now[0]))
    every = sorted(steps)
    used = {at: sum(one[0] for one in steps[at]) for at in every}
    assert sum(used.values()) == pytest.approx(samples[-1][1] - samples[0][1])
    found: dict[int, float] = {}
    silent = max(_SILENT_MS, 2.5 * float(np.median(np.diff([time for time, _ in samples]))))
    for at in every:
        passed = sum(one[1] for one in steps[at])
        rate = used[at] / (passed / MS)
        for back in range(max(1, int(passed / step + 0.5))):
            if back == 0 or not any(one in steps for one in range(at - back * step, at, step)):
                found[at - back * step] = rate
        held = at + step
        while held <= int(steps[at][-1][2] + silent) // step * step and held not in steps:
            found[held] = rate
            held += step
    return found, set(every)


def _expected(containers: Sequence[Counted]) -> dict[int, float]:
    """What the pod uses, at each time that has a sample."""
    step = _step_ms(containers)
    each = [_of_container(one, step) for one in containers]
    times = set[int]().union(*(new for _, new in each))
    return {at: sum(found.get(at, 0.0) for found, _ in each) for at in sorted(times)}


def _scraped(seed: int, step_s: int, jitter: float, count: int, inner: int) -> list[Counted]:
    """Counters of containers that are scraped at other times each, with jitter."""
    rng = np.random.default_rng(seed)
    phases = rng.permutation(step_s * MS)[:inner]
    found = []
    for phase in phases:
        late = rng.integers(0, round(step_s * MS * jitter) + 1, count)
        times = START * MS + phase + step_s * MS * np.arange(count) + late
        rises = rng.choice([0.1, 4.0], count) * np.diff(times, prepend=times[0]) / MS
        values = np.round(10 + np.cumsum(rises), 4)
        found.append(list(zip(times.tolist(), values.tolist(), strict=True)))
    return found


def _made(containers: Sequence[Counted], name: str = CPU) -> list[Made]:
    return [
        (name, of_pod(container=f"c{at}"), [(time / MS, value) for time, value in one])
        for at, one in enumerate(containers)
    ]


@pytest.mark.parametrize(("_", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    step_s=st.sampled_from([10, 15, 30, 60]),
    jitter=st.floats(0, 1 / 3),
    count=st.integers(6, 40),
    inner=st.integers(2, 4),
)
def test_core_seconds_are_what_the_counters_rose_by(
    _: str, name: str, form: Form, seed: int, step_s: int, jitter: float, count: int, inner: int
) -> None:
    containers = _scraped(seed, step_s, jitter, count, inner)
    expected = _expected(containers)
    found = _rows(form, name, _made(containers))
    assert list(found) == list(expected)
    assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-9)


@pytest.mark.parametrize(("_", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
@pytest.mark.parametrize("jitter", [0.0, 0.1, 1 / 3])
def test_a_steady_pod_is_steady_however_it_was_scraped(
    _: str, name: str, form: Form, jitter: float
) -> None:
    """Each step has a row; only at the ends a container may not be there yet."""
    for seed in range(5):
        containers = [
            [(time, (1.0 + at) * (time / MS - START)) for time, _ in one]
            for at, one in enumerate(_scraped(seed, 30, jitter, 40, 2))
        ]
        found = _rows(form, name, _made(containers))
        inner = sorted(found)[1:-1]
        assert len(inner) >= 37
        assert [b - a for a, b in pairwise(inner)] == [30 * MS] * (len(inner) - 1)
        assert [found[at] for at in inner] == pytest.approx([3.0] * len(inner))


@pytest.mark.parametrize(("_", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_samples_at_either_side_of_the_end_of_a_step_all_count(
    _: str, name: str, form: Form
) -> None:
    """0.1 and 4 cores in turns, one second early and late: half of the rates was left out."""
    at = [30 * one + (1 if one % 2 else -1) for one in range(1, 121)]
    used = [4.0 if one % 2 else 0.1 for one in range(1, 121)]
    values = np.cumsum(np.array(used) * np.diff(at, prepend=at[0])).tolist()
    samples: list[Sample] = [(START + time, value) for time, value in zip(at, values, strict=True)]
    usual: list[Made] = [
        (CPU, of_pod(f"p{one}"), [(START + 30 * one, 3.0 * one) for one in range(1, 121)])
        for one in range(2)
    ]
    found = _rows(form, name, [*usual, (CPU, of_pod(), samples)])
    assert len(found) == 119
    assert np.mean(list(found.values())) == pytest.approx(2.05, abs=0.02)


@pytest.mark.parametrize("name", [MEMORY, RULE])
def test_answers_that_have_their_times_in_common_keep_them(name: str) -> None:
    """Those of a query lie one step apart; those of one scrape are the same, however late."""
    at = [START + 7 + 30 * one for one in range(6)]
    late = [time + 0.25 * one**2 for one, time in enumerate(at)]
    for times, side in ((at, at), (at, at[:2] + at[4:]), (late, late), (late, late[2:])):
        made: list[Made] = [
            (name, of_pod(), [(time, 2.0) for time in times]),
            (name, of_pod(container="side"), [(time, 1.0) for time in side]),
        ]
        assert _rows(as_range, "answer.json", made) == {
            round(time * MS): 3.0 if time in side else 2.0 for time in times
        }


#: Metric, and what the samples 1, 2 and 6 come to that lie in one step.
SEVERAL = [(MEMORY, 6.0), (RULE, 3.0)]


@pytest.mark.parametrize(("name", "value"), SEVERAL)
def test_of_several_samples_in_a_step_memory_is_the_largest_and_what_flows_the_mean(
    name: str, value: float
) -> None:
    usual = [(START + 30 * at, 1.0) for at in range(1, 20)]
    often: list[Sample] = [(START + 10 * at, (1.0, 2.0, 6.0)[at % 3]) for at in range(1, 13)]
    made: list[Made] = [(name, of_pod(container=f"c{at}"), usual) for at in range(3)]
    found = _rows(as_dump, "dump.txt", [*made, (name, of_pod(container="often"), often)])
    assert [found[(START + 30 * at) * MS] for at in (2, 3)] == [3.0 + value] * 2


def test_a_series_that_ends_in_the_step_of_its_last_sample_keeps_that(tmp_path: Path) -> None:
    values: list[Sample] = [(START + 30 * at + 10, 30.0 * at) for at in range(6)]
    ended: list[Sample] = [*values, (START + 30 * 5 + 20, "NaN")]
    path = written(tmp_path / "dump.txt", as_dump([(CPU, of_pod(), ended)]))
    assert [row[3] for row in amounts_of(read(NAME, path))] == [1.0] * 5


def test_a_rate_over_a_scrape_that_failed_holds_over_its_time() -> None:
    """Of the other container there is a sample: what the first one used then is known later."""
    steady = [(START * MS + 30 * MS * at, 30.0 * at) for at in range(12)]
    failed = [
        (time + 7 * MS, 300.0 if at > 6 else 30.0 * at) for at, (time, _) in enumerate(steady)
    ]
    del failed[6]
    found = _rows(as_dump, "dump.txt", _made([steady, failed]))
    # it rose by 150 in 60 seconds
    assert [found[(START + 30 * at) * MS] for at in (6, 7, 8, 9)] == [2.0, 3.5, 3.5, 1.0]
