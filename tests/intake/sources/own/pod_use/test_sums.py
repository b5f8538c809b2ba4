"""Series of a container or node become what it uses: rates, a grid, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from kubernetes_support import written
from reading_support import read, recognised
from series_support import (
    CPU,
    MEMORY,
    MS,
    NAME,
    SCRAPED,
    START,
    Made,
    Sample,
    amounts_of,
    as_dump,
    as_range,
    at_times,
    of_pod,
)

from tracekit.intake.sources.own._pod_use import sums

RATES: list[tuple[str, list[Sample], list[tuple[int, float]]]] = [
    ("it grows", at_times(0, 30, 90), [(30, 1.0), (60, 2.0)]),
    ("it was reset", at_times(300, 15, 30), [(30, 0.5), (60, 0.5)]),
    (
        "one of its samples is negative, which is no reset",
        [(START, 0), (START + 30, 30), (START + 60, -5), (START + 90, 90), (START + 120, 120)],
        [(30, 1.0), (90, 1.0), (120, 1.0)],
    ),
    (
        "it was silent",
        [(START, 0), (START + 30, 30), (START + 600, 60), (START + 630, 90)],
        [(30, 1.0), (630, 1.0)],
    ),
    (
        "it is scraped every ten minutes",
        at_times(0, 600, 1800, step=600),
        [(600, 1.0), (1200, 2.0)],
    ),
    (
        "one of its samples, ten minutes apart, is missing; then many are",
        [(START + 60 * at, 60 * at) for at in (0, 10, 20, 40, 50, 120, 130)],
        [(600, 1.0), (1200, 1.0), (2400, 1.0), (3000, 1.0), (7800, 1.0)],
    ),
]


@pytest.mark.parametrize(("word", "name", "form"), SCRAPED, ids=[case[1] for case in SCRAPED])
@pytest.mark.parametrize(("_", "samples", "rates"), RATES, ids=[case[0] for case in RATES])
def test_counters_become_rates(
    tmp_path: Path,
    word: str,
    name: str,
    form: Callable[[Sequence[Made]], str],
    _: str,
    samples: list[Sample],
    rates: list[tuple[int, float]],
) -> None:
    path = written(tmp_path / name, form([(CPU, of_pod(), samples)]))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    amounts = amounts_of(found) if "container_amount" in found.tables else []
    assert amounts == [
        ((START + after) * MS, "default/web-1", "cpu", rate, "cores") for after, rate in rates
    ]


#: Samples of a counter of which no rate can be made.
NO_RATES: list[list[Sample]] = [at_times(7), at_times(0, 3600, step=3600)]


@pytest.mark.parametrize("samples", NO_RATES)
def test_counters_without_one_rate_are_told_of_with_a_remedy(
    tmp_path: Path, samples: list[Sample]
) -> None:
    found = read(NAME, written(tmp_path / "cpu.json", as_range([(CPU, of_pod(), samples)])))
    assert "container_amount" not in found.tables
    [(line, column, reason)] = found.reasons
    assert (line, column) == (1, "amount")
    assert reason == (
        f"of cpu is not known: no series of {CPU} has two samples without silence between; ask for"
        f" a range of times, or for rate({CPU}[5m])"
    )


def test_counters_of_which_some_have_rates_are_not_told_of(tmp_path: Path) -> None:
    made: list[Made] = [(CPU, of_pod(), at_times(0, 30)), (CPU, of_pod("web-2"), at_times(7))]
    found = read(NAME, written(tmp_path / "cpu.json", as_range(made)))
    assert (found.reasons, len(amounts_of(found))) == ([], 1)


def test_a_series_of_few_samples_is_silent_as_its_resource_usually_is(tmp_path: Path) -> None:
    """Two samples state no distance that is usual: those of the others do."""
    for step, rates in ((30, 3), (600, 4)):
        made: list[Made] = [
            (CPU, of_pod(), at_times(0, 1, 2, 3, step=step)),
            (CPU, of_pod("short"), at_times(0, 1, step=600)),
        ]
        found = read(NAME, written(tmp_path / f"{step}.json", as_range(made)))
        assert len(amounts_of(found)) == rates, step


def test_a_scraped_sample_holds_as_long_as_no_rate_is_missing(tmp_path: Path) -> None:
    """At ten minutes a sample holds over one that is missing, as a rate would be made over it."""
    made: list[Made] = [
        (MEMORY, of_pod(), at_times(*[100] * 13, step=600)),
        (MEMORY, of_pod(container="side"), [(START + 600 * at, 10) for at in (0, 1, 2, 3, 5, 11)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    silent = (8, 9, 10)
    assert [row[3] for row in amounts_of(found)] == [
        100.0 if at in silent else 110.0 for at in range(13)
    ]


def test_a_pod_has_no_sum_where_an_answer_has_none_of_one_container(tmp_path: Path) -> None:
    made: list[Made] = [
        ("container_memory_in_use", of_pod(), at_times(100, 100, 100)),
        ("container_memory_in_use", of_pod(container="side"), at_times(10, "NaN", 10)),
    ]
    found = read(NAME, written(tmp_path / "memory.json", as_range(made)))
    assert [(row[0], row[3]) for row in amounts_of(found)] == [
        (START * MS, 110.0),
        ((START + 60) * MS, 110.0),
    ]
    assert [(line, reason[:6]) for line, _, reason in found.reasons] == [(2, "is NaN")]


def test_containers_that_are_scraped_at_other_times_add_up_on_a_grid(tmp_path: Path) -> None:
    made: list[Made] = [
        (MEMORY, of_pod(), [(START + 30 * at + 1, 100 + at) for at in range(3)]),
        (MEMORY, of_pod(container="side"), [(START + 30 * at + 12.25, 10) for at in range(3)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert [(row[0], row[3]) for row in amounts_of(found)] == [
        ((START + 30) * MS, 110.0),
        ((START + 60) * MS, 111.0),
        ((START + 90) * MS, 112.0),
    ]


def test_each_series_holds_until_its_next_sample_or_its_end(tmp_path: Path) -> None:
    """Scrapes that are not in lockstep, as cAdvisor's own times are not: 110 all the time."""
    made: list[Made] = [
        (MEMORY, of_pod(), [(START + 10 * at, 100) for at in range(13)]),
        (MEMORY, of_pod(container="side"), [(START + 35 * at, 10) for at in range(3)]),
        (MEMORY, of_pod(container="gone"), [(START, 5), (START + 10, 5), (START + 20, "NaN")]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert [(int(str(row[0])) // MS - START, row[3]) for row in amounts_of(found)] == [
        (0, 115.0),
        (10, 115.0),
        *((10 * at, 110.0) for at in range(2, 13)),
    ]


def test_what_is_scraped_at_other_intervals_has_a_grid_of_its_own(tmp_path: Path) -> None:
    at = {"instance": "10.0.0.1:9100"}
    made: list[Made] = [
        ("node_uname_info", {**at, "nodename": "n1"}, at_times(1, 1)),
        ("node_memory_MemTotal_bytes", at, [(START + 15 * n, 100) for n in range(9)]),
        ("node_memory_MemAvailable_bytes", at, [(START + 15 * n, 40) for n in range(9)]),
        (MEMORY, of_pod(), [(START + 60 * n + 3, 100) for n in range(3)]),
        (MEMORY, of_pod(container="side"), [(START + 60 * n + 47, 10) for n in range(3)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert [row[3] for row in amounts_of(found)] == [110.0] * 3
    assert [row[3] for row in amounts_of(found, "node")] == [60.0] * 9


def test_many_samples_lie_on_disk_and_add_up_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    made: list[Made] = [
        (MEMORY, of_pod(f"p{at % 9}", f"c{at}"), at_times(*rng.integers(1, 1 << 40, 50).tolist()))
        for at in range(40)
    ]
    path = written(tmp_path / "dump.txt", as_dump(made))
    held = read(NAME, path).tables["container_amount"]
    monkeypatch.setattr(sums, "_HELD", 300)
    spilled = read(NAME, path).tables["container_amount"]
    keys = ["container", "time_ms"]
    assert held.height == 9 * 50
    assert spilled.sort(keys).equals(held.sort(keys))


def test_the_grid_is_that_of_most_samples_not_of_the_first_series(tmp_path: Path) -> None:
    """A pod that is seldom sampled came first, and of all others one sample in 20 was left."""
    seldom: Made = (MEMORY, of_pod("a"), at_times(*[1e8] * 4, step=600))
    often: Made = (MEMORY, of_pod("b"), at_times(*range(100, 161), step=30))
    for some in ([seldom, often], [often, seldom]):
        found = read(NAME, written(tmp_path / "dump.txt", as_dump(some)))
        values = [row[3] for row in amounts_of(found) if row[1] == "default/b"]
        assert values == list(range(100, 161))
