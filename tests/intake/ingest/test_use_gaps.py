"""Use of CPU recorded without that of memory is a doubt, and no row of shares is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from facts_support import the
from kubernetes_support import Object, answer, container, listed, node, pod, series, written

from tracekit.intake.ingest import ingest
from tracekit.store.doubts import WITHOUT_USE, doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.query import run
from tracekit.store.query.describe import describe

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "lacks"), [("container_cpu_in_use", "memory"), ("container_memory_in_use", "cpu")]
)
def test_what_lacks_is_a_doubt_once(tmp_path: Path, metric: str, lacks: str) -> None:
    store = _stored(tmp_path, metric)
    known = describe(store)["quantities"]
    assert known["use of containers"] == "recorded"
    assert known[f"use of containers: {lacks}"] == "absent"
    # of containers, not of samples
    assert the(doubts(store), WITHOUT_USE).value == 3
    [line] = [
        one for one in run(store, "quality/ledger").to_dicts() if one["defect"] == WITHOUT_USE
    ]
    assert (line["rows"], line["share"]) == (3, 1.0)
    # taken in again, with a node more, it is worked out anew
    written(tmp_path / "cluster" / "more.json", listed(node("n2")))
    ingest(tmp_path / "cluster", tmp_path / "store")
    again = open_store(tmp_path / "store").manifest.sources
    assert sum(d.defect == WITHOUT_USE for one in again for d in one.defects) == 1
