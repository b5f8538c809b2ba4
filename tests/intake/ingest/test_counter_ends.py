"""Counters of a later ingest go on where the store ends; what overlaps is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import container, listed, node, pod, written
from series_support import CPU, START, Made, Sample, as_export, of_pod
from store_support import tree

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store, part_path
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


#: 39 rates of 40 samples, three of 3 cores.
WHOLE = dict.fromkeys(PODS, (39, 27.0, 3.0))


@pytest.mark.slow
@pytest.mark.parametrize("ingests", [[(0, 1, 2, 3)], [(0, 1), (2, 3)], [(0,), (1,), (2,), (3,)]])
def test_a_store_has_the_rates_of_all_slices_however_they_came(
    tmp_path: Path, ingests: list[tuple[int, ...]]
) -> None:
    store = tmp_path / "store"
    for at, names in enumerate(ingests):
        folder = _sliced(tmp_path / str(at), *names)
        if at == 0:
            _cluster(folder / "k.json")
        ingest(folder, store, jobs=1)
    assert _cores(store) == WHOLE


def test_samples_of_stored_times_are_refused(tmp_path: Path) -> None:
    store, first = tmp_path / "store", _sliced(tmp_path / "first", 0)
    _cluster(first / "k.json")
    ingest(first, store, jobs=1)
    later = tmp_path / "later"
    later.mkdir()
    _slice(later / "vm.jsonl", 5, 15)
    with pytest.raises(TracekitError) as refused:
        ingest(later, store, jobs=1)
    assert "--replace" in str(refused.value.hint)
    _slice(later / "vm-0.jsonl", 0, 15)
    (later / "vm.jsonl").unlink()
    ingest(later, store, replace=True, jobs=1)
    assert _cores(store) == dict.fromkeys(PODS, (14, 9.5, 3.0))


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
