"""Use of CPU recorded without that of memory: told, though no row of shares is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import Object, answer, container, listed, node, pod, series, written

from tracekit.ingest import ingest
from tracekit.ingest.use_gaps import TWICE
from tracekit.query import run
from tracekit.query.describe import describe
from tracekit.store import Store, open_store
from tracekit.store.doubts import WITHOUT_USE, doubts

FROM_S = 1_767_225_600


def _stored(folder: Path, metric: str) -> Store:
    made = folder / "cluster"
    made.mkdir(exist_ok=True)
    pods: list[Object] = [
        pod(f"p{at}", nodeName="n1", containers=[container("1")]) for at in range(3)
    ]
    written(made / "cluster.json", listed(node("n1"), *pods))
    used = 0.5 if "cpu" in metric else 5e8
    some = [
        series(None, [(FROM_S + 60 * at, used) for at in range(4)], namespace="default", pod="p0")
    ]
    written(made / f"{metric}.json", answer(*some))
    ingest(made, folder / "store")
    return open_store(folder / "store")


@pytest.mark.parametrize(
    ("metric", "lacks", "said"),
    [
        ("container_cpu_in_use", "memory", "2 have no recorded use of CPU and 3 have no recorded"),
        ("container_memory_in_use", "cpu", "3 have no recorded use of CPU and 2 have no recorded"),
    ],
)
def test_what_lacks_is_told_once(tmp_path: Path, metric: str, lacks: str, said: str) -> None:
    store = _stored(tmp_path, metric)
    known = describe(store)["quantities"]
    assert known["use of containers"] == "recorded"
    assert known[f"use of containers: {lacks}"] == "absent"
    (told,) = [one for one in doubts(store) if "no recorded use" in one]
    assert f"of 3 containers on nodes {said}" in told
    assert told.endswith("analyses that go by use of both have nothing to read")
    # of containers, not of samples
    [line] = [
        one for one in run(store, "quality/ledger").to_dicts() if one["defect"] == WITHOUT_USE
    ]
    assert (line["rows"], line["share"]) == (3, 1.0)
    # taken in again, with a node more, it is worked out anew
    written(tmp_path / "cluster" / "more.json", listed(node("n2")))
    ingest(tmp_path / "cluster", tmp_path / "store")
    again = open_store(tmp_path / "store").manifest.sources
    assert sum(d.defect == WITHOUT_USE for one in again for d in one.defects) == 1


def test_a_sample_of_two_files_is_in_the_ledger(tmp_path: Path) -> None:
    """Fetched anew from where the last fetch ended, and a time before; memory does not overlap."""
    made = tmp_path / "cluster"
    made.mkdir()
    written(made / "cluster.json", listed(node("n1"), pod("p0", nodeName="n1")))
    parts = {("cpu", 0): 4, ("cpu", 2): 4, ("memory", 0): 2, ("memory", 2): 2}
    for (what, first), count in parts.items():
        (made / str(first)).mkdir(exist_ok=True)
        times = [(FROM_S + 60 * (first + at), 0.5 if what == "cpu" else 5e8) for at in range(count)]
        some = series(None, times, namespace="default", pod="p0")
        written(made / str(first) / f"container_{what}_in_use.json", answer(some))
    ingest(made, tmp_path / "store")
    store = open_store(tmp_path / "store")
    [line] = run(store, "quality/ledger").filter(defect=TWICE).to_dicts()
    assert (line["table"], line["rows"]) == ("container_amount", 2)
    assert "2 samples of 1 container stand in a second file" in line["example"]
    # made anew of all, it is told once
    written(made / "more.json", listed(node("n2")))
    ingest(made, tmp_path / "store")
    assert run(open_store(tmp_path / "store"), "quality/ledger").filter(defect=TWICE).height == 1
