"""A counter goes on from file to file: its rates are those of one file with all samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from kubernetes_support import written
from reading_support import read
from series_support import (
    CPU,
    FORMS,
    MEMORY,
    NAME,
    START,
    Made,
    Sample,
    amounts_of,
    as_dump,
    as_export,
    as_range,
    files_beside,
    of_pod,
)

from tracekit.sources.own._prometheus import runs as runs_of
from tracekit.sources.own._prometheus.runs import Followed, Runs
from tracekit.sources.own._prometheus.series import Series

#: The counter of CPU at each sample; it begins again before the fifth, rises most before the ninth.
VALUES = (10.0, 13.0, 16.0, 19.0, 6.0, 9.0, 12.0, 15.0, 120.0, 123.0, 126.0, 129.0)
#: What the counter rose by since the sample before.
RISES = (3.0, 3.0, 3.0, 6.0, 3.0, 3.0, 3.0, 105.0, 3.0, 3.0, 3.0)
#: From which sample until before which one files go, by their names.
SLICES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "one after another": {"a": (0, 4), "b": (4, 8), "c": (8, 12)},
    "names in another order": {"a": (8, 12), "b": (0, 4), "c": (4, 8)},
    "the first sample is the last one of the file before": {"a": (0, 5), "b": (4, 9), "c": (8, 12)},
    "they overlap": {"a": (0, 7), "b": (3, 10), "c": (6, 12)},
    "they overlap, and the last is first": {"c": (0, 7), "b": (3, 10), "a": (6, 12)},
    "one has all of another": {"a": (0, 12), "b": (4, 8)},
    "two are the same": {"a": (0, 6), "b": (0, 6), "c": (6, 12)},
    "two samples each": {f"{at:02}": (at, at + 2) for at in range(0, 12, 2)},
    "a sample each": {f"{at:02}": (at, at + 1) for at in range(12)},
}


def _samples(step_s: int, first: int, end: int) -> list[Sample]:
    return [(START + at * step_s, VALUES[at]) for at in range(first, end)]


def _rates(folder: Path, *paths: Path) -> dict[object, set[object]]:
    """Every rate that any of the files states, by time."""
    found: dict[object, set[object]] = {}
    for path in paths:
        tables = read(NAME, path, files_beside(*paths))
        assert tables.reasons == [] or len(paths) > 1, folder
        if "container_amount" in tables.tables:
            for time, _, _, amount, _ in amounts_of(tables):
                found.setdefault(time, set()).add(amount)
    return found


@pytest.mark.parametrize("step_s", [60, 300, 600])
@pytest.mark.parametrize("slices", SLICES.values(), ids=SLICES)
def test_rates_go_across_files(
    tmp_path: Path, slices: Mapping[str, tuple[int, int]], step_s: int
) -> None:
    paths = [
        written(tmp_path / f"{name}.jsonl", as_export([(CPU, of_pod(), _samples(step_s, *of))]))
        for name, of in slices.items()
    ]
    expected = {
        (START + at * step_s) * 1000: {rise / step_s} for at, rise in enumerate(RISES, start=1)
    }
    assert _rates(tmp_path, *sorted(paths)) == expected


@pytest.mark.parametrize("form", [as_range, as_dump, as_export], ids=["range", "dump", "export"])
def test_rates_go_on_in_a_file_of_any_form(
    tmp_path: Path, form: Callable[[Sequence[Made]], str]
) -> None:
    """The file before is of another form than most."""
    first = written(tmp_path / "a.om", as_dump([(CPU, of_pod(), _samples(60, 0, 8))]))
    name = next(name for _, name, one in FORMS if one is form)
    second = written(tmp_path / f"b-{name}", form([(CPU, of_pod(), _samples(60, 8, 12))]))
    assert _rates(tmp_path, first, second)[(START + 8 * 60) * 1000] == {105.0 / 60}


def test_no_rate_goes_across_silence_or_to_another_series(tmp_path: Path) -> None:
    end = START + 20 * 60
    made: dict[str, list[Made]] = {
        "a": [(CPU, of_pod(), _samples(60, 0, 8)), (MEMORY, of_pod(), _samples(60, 0, 8))],
        "b": [
            (CPU, of_pod(), [(end, 200.0), (end + 60, 203.0)]),
            (CPU, of_pod("web-2"), [(START + 8 * 60, 500.0)]),
        ],
    }
    paths = [written(tmp_path / f"{name}.jsonl", as_export(some)) for name, some in made.items()]
    assert amounts_of(read(NAME, paths[1], files_beside(*paths))) == [
        ((end + 60) * 1000, "default/web-1", "cpu", 0.05, "cores")
    ]


def test_a_gap_that_another_file_fills_is_no_gap(tmp_path: Path) -> None:
    whole = _samples(60, 0, 12)
    a = written(tmp_path / "a.jsonl", as_export([(CPU, of_pod(), whole[:2] + whole[9:])]))
    b = written(tmp_path / "b.jsonl", as_export([(CPU, of_pod(), whole[2:9])]))
    found = _rates(tmp_path, a, b)
    assert [found[(START + at * 60) * 1000] for at in range(1, 12)] == [
        {rise / 60} for rise in RISES
    ]


#: Which of the samples each file has.
PICKED: Mapping[str, tuple[Sequence[int], ...]] = {
    "a hole": ((0, 1, 2, 3, 4, 7, 8, 9, 10, 11), (5, 6)),
    "a hole of one": ((0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11), (7,)),
    "the second has more than the hole": ((0, 1, 2, 3, 4, 7, 8, 9, 10, 11), (3, 4, 5, 6, 7, 8, 9)),
    "two holes": ((0, 1, 2, 5, 6, 7, 9, 10, 11), (3, 4, 8)),
    "every other one": (range(0, 12, 2), range(1, 12, 2)),
    "every third one": (range(0, 12, 3), range(1, 12, 3), range(2, 12, 3)),
    "every sample, and every other one": (range(12), range(0, 12, 2)),
    "few samples": ((0, 3, 11), (1, 2, 4, 5, 6, 7, 8, 9, 10)),
}


@pytest.mark.parametrize(
    "labels", [of_pod(), of_pod(container=None, id="/kubepods/pod1")], ids=["inner", "whole"]
)
@pytest.mark.parametrize("form", [as_range, as_dump, as_export], ids=["range", "dump", "export"])
@pytest.mark.parametrize("picked", PICKED.values(), ids=PICKED)
def test_samples_between_those_of_another_file_are_of_one_series(
    tmp_path: Path,
    picked: tuple[Sequence[int], ...],
    form: Callable[[Sequence[Made]], str],
    labels: dict[str, str],
) -> None:
    """Answers keep their times, which are no multiples of the step."""
    off = 7 if form is as_range else 0
    name = next(name for _, name, one in FORMS if one is form)
    paths = [
        written(
            tmp_path / f"{number}-{name}",
            form([(CPU, labels, [(START + off + at * 60, VALUES[at]) for at in some])]),
        )
        for number, some in enumerate(picked)
    ]
    assert _rates(tmp_path, *paths) == {
        (START + off + at * 60) * 1000: {rise / 60} for at, rise in enumerate(RISES, start=1)
    }


def _of(number: int, *seconds: int) -> Series:
    times = np.array(seconds, dtype=np.int64) * 1000
    return Series(
        name=CPU,
        labels=of_pod(f"web-{number}"),
        line=number,
        raw=True,
        times_ms=times,
        values=times / 1000.0,
    )


def test_what_is_held_of_series_does_not_grow_with_their_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file may state all series at one time after those at the time before."""
    monkeypatch.setattr(runs_of, "_WAITING", 10)
    runs, most = Runs(), 0
    for at in range(100):
        for number in range(20):
            runs.note(_of(number, at * 60))
            most = max(most, len(runs._waiting) + runs._kept.height)
    assert most < 100
    found = runs.frame()
    assert found.height == 20
    assert set(found.select("first_ms", "last_ms", "value").rows()) == {(0, 99 * 60_000, 5940.0)}


def test_stretches_know_what_is_before_them_in_files_and_store(tmp_path: Path) -> None:
    stored = tmp_path / "part.parquet"
    other = _of(2, 0).number
    pl.DataFrame(
        {
            "series": [_of(1, 0).number.text, other.text, other.text],
            "time_ms": [40_000, 40_000, 900_000],
            "first_ms": [10_000.0, 10_000.0, 200_000.0],
            "value": [4.0, 5.0, 6.0],
            "before_ms": [None, None, None],
        },
        schema_overrides={"before_ms": pl.Float64},
    ).write_parquet(stored)
    runs = Runs()
    runs.note(_of(1, 60, 70), 0)
    runs.note(_of(1, 90, 100), 1)
    runs.note(_of(2, 60, 70), 1)
    found = Followed(runs.frame(), ((str(stored), 900_000),))
    assert list(found.of(0).of(*_of(1, 0).number)) == [(60_000, 40_000, 4.0)]
    assert list(found.of(1).of(*_of(1, 0).number)) == [(90_000, 70_000, 70.0)]
    assert list(found.of(1).of(*other)) == [(60_000, 40_000, 5.0)]
    assert (found.precedes(0), found.precedes(1)) == ({1}, set())
    assert (found.too_late(0), found.too_late(1)) == ({}, {other: [(70_000, 200_000)]})
