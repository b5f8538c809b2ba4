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
    at_times,
    of_pod,
)

from tracekit.sources.own import _prometheus_sums

RATES: list[tuple[str, list[Sample], list[tuple[int, float]]]] = [
    ("it grows", at_times(0, 30, 90), [(30, 1.0), (60, 2.0)]),
    ("it was reset", at_times(300, 15, 30), [(30, 0.5), (60, 0.5)]),
    (
        "it was silent",
        [(START, 0), (START + 30, 30), (START + 600, 60), (START + 630, 90)],
        [(30, 1.0), (630, 1.0)],
    ),
    ("one sample", at_times(7), []),
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
    monkeypatch.setattr(_prometheus_sums, "_HELD", 300)
    spilled = read(NAME, path).tables["container_amount"]
    keys = ["container", "time_ms"]
    assert held.height == 9 * 50
    assert spilled.sort(keys).equals(held.sort(keys))
