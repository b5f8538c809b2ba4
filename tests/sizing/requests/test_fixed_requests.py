"""What init containers and overhead keep of a request: in no sum of what is freed, and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import (
    CREATED_MS,
    Object,
    answer,
    container,
    listed,
    node,
    owned,
    pod,
    series,
    written,
)

import tracekit
from tracekit import ingest
from tracekit.answer.requests import facts_of_requests
from tracekit.base.study import Study, read_study
from tracekit.cluster.source import source_of
from tracekit.store.folder import open_store
from tracekit.store.views import read

#: Cores in use by each pod, and what a policy without a margin recommends.
USED = 0.25
MAXIMUM = "percentile_request[percentile=1.0,margin=0.0]"
STEPS = 60
#: Services: what their pods have beside one container of 1 core, what is reserved now, and then.
SERVICES: dict[str, tuple[Object, float, float]] = {
    "plain": ({}, 1.0, USED),
    "init": ({"initContainers": [container("3")]}, 3.0, 3.0),
    "little": ({"initContainers": [container("500m")]}, 1.0, 0.5),
    "least": ({"initContainers": [container("100m")]}, 1.0, USED),
    "kata": ({"overhead": {"cpu": "1500m"}}, 2.5, USED + 1.5),
    "both": ({"initContainers": [container("2")], "overhead": {"cpu": "1"}}, 3.0, 3.0),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pod of each service on one node; all use the same."""
    folder = tmp_path_factory.mktemp("fixed")
    files = folder / "files"
    files.mkdir()
    pods = [
        pod(f"{name}-0", meta=owned("StatefulSet", name), nodeName="n0",
            **{"containers": [container("1")], **extra})
        for name, (extra, _, _) in SERVICES.items()
    ]  # fmt: skip
    written(files / "kubernetes.json", listed(node("n0", cpu="32"), *pods))
    times = [(CREATED_MS / 1000 + 60 * step, USED) for step in range(STEPS)]
    used = [series(None, times, namespace="default", pod=f"{name}-0") for name in SERVICES]
    written(files / "container_cpu_in_use.json", answer(*used))
    ingest(files, folder / "store")
    return folder / "store"


@pytest.fixture(scope="module")
def sized(store: Path) -> Study:
    tracekit.requests(store, policies=(MAXIMUM,), out=store.parent / "sized")
    return read_study(store.parent / "sized")


def test_what_stays_is_not_freed(sized: Study) -> None:
    rows = sized.frames["services"].filter(policy=MAXIMUM, resource="cpu")
    found = {one["service"].partition("/")[2]: one for one in rows.to_dicts()}
    assert found.keys() == SERVICES.keys()
    for name, (_, now, then) in SERVICES.items():
        row = found[name]
        assert row["recommended"] == pytest.approx(USED)
        assert row["request_now"] == pytest.approx(1.0), name
        assert row["reserved_now"] == pytest.approx(now), name
        assert row["reserved_then"] == pytest.approx(then), name
        assert row["freed"] == pytest.approx(now - then), name
    total = sized.frames["policies"].filter(policy=MAXIMUM, resource="cpu").row(0, named=True)
    assert total["freed"] == pytest.approx(sum(now - then for _, now, then in SERVICES.values()))


def test_what_stays_is_a_fact(sized: Study) -> None:
    (fact,) = [one for one in facts_of_requests(sized) if one.because == "fixed"]
    expected = [then - USED for _, _, then in SERVICES.values() if then > USED]
    assert fact.value == pytest.approx(sum(expected))
    assert fact.about["services"] == len(expected)


def test_a_replay_reserves_it(store: Path, sized: Study) -> None:
    assert sized.about["subject"] == MAXIMUM
    load = source_of(
        open_store(store), None, assume=(f"requests=sized:{store.parent / 'sized'}",)
    ).load()
    at = load.resources.index("cpu_milli")
    found = {
        name.partition("/")[2].removesuffix("-0"): amount / 1000
        for name, amount in zip(
            load.containers.ids, load.containers.request[:, at].tolist(), strict=True
        )
    }
    assert found == pytest.approx({name: then for name, (_, _, then) in SERVICES.items()})


def test_the_store_has_both_parts(store: Path) -> None:
    rows = read(open_store(store), "fixed_request")
    assert rows["overhead"].drop_nulls().sort().to_list() == [1.0, 1.5]
    assert rows["init"].drop_nulls().sort().to_list() == [0.1, 0.5, 2.0, 3.0]
    assert set(rows["own_request"]) == {1.0}
    assert set(rows["unit"]) == {"cores"}
