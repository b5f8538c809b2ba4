"""Counters of a later ingest go on where the store ends; what cannot go on is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import container, listed, node, pod, written
from series_support import CPU, START, Made, Sample, as_export, of_pod
from store_support import tree

from tracekit.ingest import ingest
from tracekit.sources.unreadable import TOO_LATE_DEFECT
from tracekit.store import open_store
from tracekit.store.doubts import doubts
from tracekit.store.folder import part_path
from tracekit.store.views import read

STEP_S = 60
#: Pods, of which each has a counter.
PODS = ("web-1", "web-2", "web-3")


def _slice(path: Path, first: int, end: int, *pods: str) -> Path:
    """Half a core, and 3 cores in the minute before each tenth sample."""
    some: list[Made] = []
    for name in pods or PODS:
        samples: list[Sample] = [
            (START + at * STEP_S, 30.0 * at + 150.0 * (at // 10)) for at in range(first, end)
        ]
        some.append((CPU, of_pod(name), samples))
    return written(path, as_export(some))


def _cluster(path: Path) -> Path:
    pods = [pod(name, nodeName="n1", containers=[container("500m")]) for name in PODS]
    return written(path, listed(node("n1"), *pods))


def _sliced(folder: Path, *names: int) -> Path:
    """Files of ten samples each, called by their number."""
    folder.mkdir(exist_ok=True)
    for number in names:
        _slice(folder / f"vm-{number}.jsonl", 10 * number, 10 * number + 10)
    return folder


def _cores(store: Path) -> dict[str, tuple[int, float, float]]:
    """How many rates there are of each pod, their sum and the largest."""
    rows = read(open_store(store), "container_amount").filter(resource="cpu")
    found = {}
    for name in PODS:
        amounts = rows.filter(container=f"default/{name}")["amount"]
        found[name] = amounts.len(), round(float(amounts.sum()), 9), float(amounts.max())  # type: ignore[arg-type]
    return found


#: 39 rates of 40 samples, three of 3 cores; and with one of these missing.
WHOLE = dict.fromkeys(PODS, (39, 27.0, 3.0))
LACKING = dict.fromkeys(PODS, (38, 24.0, 3.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "ingests",
    [[(0, 1, 2, 3)], [(0, 1), (2, 3)], [(0,), (1,), (2,), (3,)], [(0, 2), (1, 3)]],
    ids=str,
)
def test_a_store_has_the_rates_of_all_slices_however_they_came(
    tmp_path: Path, ingests: list[tuple[int, ...]]
) -> None:
    """Of the last of these, slice 1 is before slice 2, which is stored; that is told."""
    whole = ingests[-1] != (1, 3)
    store = tmp_path / "store"
    for at, names in enumerate(ingests):
        folder = _sliced(tmp_path / str(at), *names)
        if at == 0:
            _cluster(folder / "k.json")
        ingest(folder, store, jobs=1)
    assert _cores(store) == (WHOLE if whole else LACKING)
    told = [one for one in doubts(open_store(store)) if "of counters" in one]
    assert len(told) == (not whole)


@pytest.mark.slow
def test_increases_that_come_too_late_are_counted_and_told(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = _sliced(tmp_path / "first", 0, 2)
    _cluster(first / "k.json")
    ingest(first, store, jobs=1)
    summary = ingest(_sliced(tmp_path / "second", 1), store, jobs=1)
    said = (
        "3 increases of counters are in no rate, as vm-1.jsonl was taken in after what it precedes:"
        " use is wrong there; take in all files together in one folder, into a new store; see the"
        " rejects of container_amount"
    )
    assert said in summary.doubts
    defects = [
        one
        for entry in open_store(store).manifest.sources
        for one in entry.defects
        if one.defect == TOO_LATE_DEFECT
    ]
    at = (START + 19 * STEP_S) * 1000
    assert [(one.rows, one.example) for one in defects] == [
        (
            3,
            (
                f"line 1: comes too late: the increase of cpu from {at} to {at + STEP_S * 1000},"
                " where what is stored goes on, is in no rate of its own"
            ),
        )
    ]


@pytest.mark.slow
def test_a_store_is_made_anew_where_an_earlier_slice_comes_into_its_folder(tmp_path: Path) -> None:
    store, folder = tmp_path / "store", _sliced(tmp_path / "all", 0, 2, 3)
    _cluster(folder / "k.json")
    ingest(folder, store, jobs=1)
    _sliced(folder, 1)
    assert ingest(folder, store, jobs=1).anew == "vm-1.jsonl"
    assert _cores(store) == WHOLE
    ingest(folder, tmp_path / "once", jobs=1)
    assert tree(store / "tables") == tree(tmp_path / "once" / "tables")


#: Of 40 samples those of the second of two files: what lies between samples of the first.
BETWEEN: dict[str, list[int]] = {
    "a hole is filled": [9, 10, 11],
    "holes are filled": [3, 20, 21, 30],
    "every other one": list(range(1, 40, 2)),
}


def _picked(path: Path, picked: list[int]) -> None:
    samples: list[Sample] = [
        (START + at * STEP_S, 30.0 * at + 150.0 * (at // 10)) for at in sorted(picked)
    ]
    written(path, as_export([(CPU, of_pod(name), samples) for name in PODS]))


@pytest.mark.slow
@pytest.mark.parametrize("second", BETWEEN.values(), ids=BETWEEN)
def test_samples_between_those_of_another_file_count_with_them(
    tmp_path: Path, second: list[int]
) -> None:
    """In one ingest, and where the second comes later into the same folder."""
    folder = tmp_path / "all"
    folder.mkdir()
    _cluster(folder / "k.json")
    _picked(folder / "a.jsonl", [at for at in range(40) if at not in second])
    ingest(folder, tmp_path / "later", jobs=1)
    _picked(folder / "b.jsonl", second)
    ingest(folder, tmp_path / "once", jobs=1)
    assert _cores(tmp_path / "once") == WHOLE
    assert ingest(folder, tmp_path / "later", jobs=1).anew == "b.jsonl"
    assert tree(tmp_path / "later" / "tables") == tree(tmp_path / "once" / "tables")


@pytest.mark.slow
@pytest.mark.parametrize(
    "second", [*BETWEEN.values(), list(range(6, 15))], ids=[*BETWEEN, "more than the hole"]
)
def test_samples_between_those_that_are_stored_are_told(tmp_path: Path, second: list[int]) -> None:
    lacking = BETWEEN["a hole is filled"] if len(second) == 9 else second
    for name, picked in {
        "first": [at for at in range(40) if at not in lacking],
        "second": second,
    }.items():
        (tmp_path / name).mkdir()
        _picked(tmp_path / name / f"{name}.jsonl", picked)
    _cluster(tmp_path / "first" / "k.json")
    store = tmp_path / "store"
    assert not [
        one for one in ingest(tmp_path / "first", store, jobs=1).doubts if "of count" in one
    ]
    told = ingest(tmp_path / "second", store, jobs=1).doubts
    assert [one for one in told if "in no rate, as second.jsonl was taken in after" in one]


@pytest.mark.slow
def test_what_is_stored_already_and_comes_again_is_not_told(tmp_path: Path) -> None:
    """Slices that overlap have the same samples twice; two of 20 are lacking in both."""
    some = [at for at in range(40) if at not in (14, 15)]
    for name, picked in {"first": some[:25], "second": some[5:]}.items():
        (tmp_path / name).mkdir()
        _picked(tmp_path / name / f"{name}.jsonl", picked)
    _cluster(tmp_path / "first" / "k.json")
    store = tmp_path / "store"
    for name in ("first", "second"):
        summary = ingest(tmp_path / name, store, jobs=1)
        assert not [one for one in summary.doubts if "in no rate" in one]


@pytest.mark.slow
def test_a_later_slice_in_the_same_folder_is_added(tmp_path: Path) -> None:
    store, folder = tmp_path / "store", _sliced(tmp_path / "all", 0, 1, 2)
    _cluster(folder / "k.json")
    ingest(folder, store, jobs=1)
    _sliced(folder, 3)
    assert ingest(folder, store, jobs=1).anew == ""
    assert _cores(store) == WHOLE


@pytest.mark.slow
def test_a_mended_slice_has_the_same_rates(tmp_path: Path) -> None:
    """It is held against what the store had before it, though later slices are there now."""
    store, later = tmp_path / "store", _sliced(tmp_path / "later", 1)
    first = _sliced(tmp_path / "first", 0)
    _cluster(first / "k.json")
    for folder in (first, later, _sliced(tmp_path / "last", 2, 3)):
        ingest(folder, store, jobs=1)
    before = tree(store / "tables")
    entry = next(
        one
        for one in open_store(store).manifest.parts("container_amount")
        if one.file == "vm-1.jsonl"
    )
    (store / part_path("container_amount", entry.part)).write_bytes(b"damaged")
    assert ingest(later, store, jobs=1).mended == ["vm-1.jsonl"]
    assert tree(store / "tables") == before
    assert _cores(store) == WHOLE


@pytest.mark.slow
def test_the_number_of_jobs_does_not_show(tmp_path: Path) -> None:
    folder = _sliced(tmp_path / "all", 3, 0, 2, 1)
    _cluster(folder / "k.json")
    for jobs in (1, 3):
        ingest(folder, tmp_path / str(jobs), jobs=jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "3")
