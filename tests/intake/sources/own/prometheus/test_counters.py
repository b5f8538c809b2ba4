"""A counter goes on from file to file; files and replicas that overlap are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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

from tracekit.base.errors import TracekitError

#: The counter of CPU at each sample; it begins again before the fifth, rises most before the ninth.
VALUES = (10.0, 13.0, 16.0, 19.0, 6.0, 9.0, 12.0, 15.0, 120.0, 123.0, 126.0, 129.0)
#: What the counter rose by since the sample before.
RISES = (3.0, 3.0, 3.0, 6.0, 3.0, 3.0, 3.0, 105.0, 3.0, 3.0, 3.0)
#: From which sample until before which one files go, by their names.
SLICES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "one after another": {"a": (0, 4), "b": (4, 8), "c": (8, 12)},
    "names in another order": {"a": (8, 12), "b": (0, 4), "c": (4, 8)},
    "the first sample is the last one of the file before": {"a": (0, 5), "b": (4, 9), "c": (8, 12)},
    "two are the same": {"a": (0, 6), "b": (0, 6), "c": (6, 12)},
    "a sample each": {f"{at:02}": (at, at + 1) for at in range(12)},
}
FETCH = "tracekit fetch prometheus"


def _samples(step_s: int, first: int, end: int) -> list[Sample]:
    return [(START + at * step_s, VALUES[at]) for at in range(first, end)]


def _rates(*paths: Path) -> dict[object, set[object]]:
    """Every rate that any of the files states, by time."""
    found: dict[object, set[object]] = {}
    for path in paths:
        tables = read(NAME, path, files_beside(*paths))
        if "container_amount" in tables.tables:
            for time, _, _, amount, _ in amounts_of(tables):
                found.setdefault(time, set()).add(amount)
    return found


@pytest.mark.parametrize("slices", SLICES.values(), ids=SLICES)
def test_rates_go_across_files(tmp_path: Path, slices: Mapping[str, tuple[int, int]]) -> None:
    step_s = 60
    paths = [
        written(tmp_path / f"{name}.jsonl", as_export([(CPU, of_pod(), _samples(step_s, *of))]))
        for name, of in slices.items()
    ]
    expected = {
        (START + at * step_s) * 1000: {rise / step_s} for at, rise in enumerate(RISES, start=1)
    }
    assert _rates(*sorted(paths)) == expected


def test_samples_in_any_order_are_one_counter(tmp_path: Path) -> None:
    """A server may export a series in pieces, the later ones first."""
    made: list[Made] = [(CPU, of_pod(), _samples(60, *of)) for of in ((8, 12), (0, 4), (4, 8))]
    whole = _rates(written(tmp_path / "a.jsonl", as_export([(CPU, of_pod(), _samples(60, 0, 12))])))
    assert _rates(written(tmp_path / "b.jsonl", as_export(made))) == whole


@pytest.mark.parametrize("form", [as_range, as_dump, as_export], ids=["range", "dump", "export"])
def test_rates_go_on_in_a_file_of_any_form(
    tmp_path: Path, form: Callable[[Sequence[Made]], str]
) -> None:
    """The file before is of another form than most."""
    first = written(tmp_path / "a.om", as_dump([(CPU, of_pod(), _samples(60, 0, 8))]))
    name = next(name for _, name, one in FORMS if one is form)
    second = written(tmp_path / f"b-{name}", form([(CPU, of_pod(), _samples(60, 8, 12))]))
    assert _rates(first, second)[(START + 8 * 60) * 1000] == {105.0 / 60}


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


#: What two files have of one pod: samples, and labels beside its own.
CLASHES: Mapping[str, tuple[tuple[Sequence[int], dict[str, str]], ...]] = {
    "they overlap": ((range(8), {}), (range(4, 12), {})),
    "one fills a hole of the other": (((0, 1, 5, 6), {}), ((2, 3, 4), {})),
    "two replicas": ((range(8), {"replica": "a"}), (range(8), {"replica": "b"})),
    "two containers": ((range(8), {}), (range(8), {"container": "side"})),
}


@pytest.mark.parametrize("some", CLASHES.values(), ids=CLASHES)
def test_a_second_file_that_overlaps_is_refused(
    tmp_path: Path, some: tuple[tuple[Sequence[int], dict[str, str]], ...]
) -> None:
    paths = [
        written(
            tmp_path / f"{at}.jsonl",
            as_export([(CPU, of_pod(**more), [(START + n * 60, VALUES[n]) for n in picked])]),
        )
        for at, (picked, more) in enumerate(some)
    ]
    beside = files_beside(*paths)
    assert read(NAME, paths[0], beside).tables["container_amount"].height
    with pytest.raises(TracekitError) as refused:
        read(NAME, paths[1], beside)
    assert FETCH in str(refused.value.hint)


@pytest.mark.parametrize("later", [False, True])
def test_replicas_that_overlap_are_refused_and_those_that_follow_go_on(
    tmp_path: Path, later: bool
) -> None:
    spans = ((0, 6), (6, 12)) if later else ((0, 8), (4, 12))
    made: list[Made] = [
        (CPU, of_pod(prometheus_replica=name), _samples(60, *span))
        for name, span in zip("ab", spans, strict=True)
    ]
    path = written(tmp_path / "dump.txt", as_dump(made))
    if later:
        assert len(_rates(path)) == len(RISES)
        return
    with pytest.raises(TracekitError) as refused:
        read(NAME, path)
    assert FETCH in str(refused.value.hint)
