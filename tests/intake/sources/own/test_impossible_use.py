"""Use in another unit, times of another scale and series told twice: refused, counted or one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from kubernetes_support import Object, answer, listed, node, pod, series, written
from reading_support import Reading, opened, read

from tracekit.base.errors import TracekitError
from tracekit.base.seeds import stream
from tracekit.cluster.sized.workload import sized_assumptions, workload_from_sizes
from tracekit.commands.info import info
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store

START = 1_767_225_600
CPU, MEMORY = "container_cpu_in_use", "container_memory_in_use"


def _use(
    name: str, value: float, *, pods: int = 2, step: float = 60.0, **labels: str
) -> list[Object]:
    times = [(START * step / 60.0 + at * step, value) for at in range(4)]
    return [
        series(name, times, namespace="default", pod=f"web-{at}", **labels) for at in range(pods)
    ]


def _read(tmp_path: Path, some: Sequence[Object]) -> Reading:
    things = [node("n1"), *(pod(f"web-{at}", nodeName="n1") for at in range(2))]
    cluster = written(tmp_path / "cluster.json", listed(*things))
    path = written(tmp_path / "use.json", answer(*some))
    beside = {"objects": (opened(cluster),), "range": (opened(path),)}
    return read("kubernetes", path, beside)


@pytest.mark.parametrize(
    ("name", "value", "likely"),
    [
        (CPU, 250.0, "percent of a core, or millicores"),
        (CPU, 2500.0, "millicores"),
        (CPU, 45.0, "percent"),
        (CPU, 7.0, "percent"),
        (CPU, 3e8, "nanocores"),
        (MEMORY, 256.0, "MiB"),
        (MEMORY, 1e12, "a smaller unit"),
    ],
)
def test_use_that_cannot_be_is_refused(
    tmp_path: Path, name: str, value: float, likely: str
) -> None:
    with pytest.raises(TracekitError) as raised:
        _read(tmp_path, _use(name, value))
    assert raised.value.hint is not None
    assert f"it looks like {likely}" in raised.value.hint


def test_a_single_value_that_no_node_could_give_is_a_reject(tmp_path: Path) -> None:
    """A counter that jumped: of four values one is nine times the largest node."""
    times = [(START + at * 60.0, 36.0 if at == 2 else 0.5) for at in range(4)]
    found = _read(tmp_path, [series(CPU, times, namespace="default", pod="web-0")])
    assert found.tables["container_amount"]["amount"].to_list() == [0.5] * 3
    (broken,) = [one for one in found.broken if one.table == "container_amount"]
    assert (broken.column, broken.text) == ("amount", "default/web-0")


@pytest.mark.parametrize(("name", "value"), [(CPU, 3.9), (MEMORY, 2e8), (CPU, 0.0)])
def test_use_that_can_be_is_taken(tmp_path: Path, name: str, value: float) -> None:
    found = _read(tmp_path, _use(name, value))
    assert not found.broken
    assert len(found.rows("container_amount", "amount")) == 8


def test_times_in_milliseconds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match=r"far ahead of today") as raised:
        _read(tmp_path, _use(CPU, 0.2, step=60_000.0))
    assert "milliseconds" in str(raised.value.hint)


def test_an_export_in_seconds_is_refused(tmp_path: Path) -> None:
    line = f'{{"metric":{{"__name__":"{CPU}","pod":"a"}},"values":[1],"timestamps":[{START}]}}\n'
    path = written(tmp_path / "export.jsonl", line)
    with pytest.raises(TracekitError, match=r"before 1974"):
        read("kubernetes", path)


def test_replicas_of_a_prometheus_count_once(tmp_path: Path) -> None:
    both = [one for who in "ab" for one in _use(CPU, 0.25, pods=1, prometheus_replica=who)]
    found = _read(tmp_path, both)
    assert [row[0] for row in found.rows("container_amount", "amount")] == [0.25] * 4
    assert not found.broken


def test_a_time_with_two_values_is_told(tmp_path: Path) -> None:
    found = _read(tmp_path, [*_use(CPU, 0.25, pods=1), *_use(CPU, 0.5, pods=1)])
    assert [row[0] for row in found.rows("container_amount", "amount")] == [0.5] * 4
    [(_, column, reason)] = found.reasons
    assert column == "time_ms"
    assert reason.startswith("of 4 samples of cpu is one that has a value already, the first ")


def test_an_answer_without_pods_is_told(tmp_path: Path) -> None:
    one = {"metric": {"namespace": "default"}, "values": [[START, "1"]]}
    path = written(tmp_path / "container_cpu_in_use.json", answer(one))
    found = read("kubernetes", path)
    assert [reason for _, _, reason in found.reasons] == [
        "has no label pod: it cannot be told whose use it is"
    ]


def test_use_from_before_the_pod_is_told_and_left_out(tmp_path: Path) -> None:
    early = [(START - 86_400 + at * 60, 0.25) for at in range(4)]
    one = series(CPU, early, namespace="default", pod="web-1")
    found = _read(tmp_path, [one, *_use(CPU, 0.25, pods=1)])
    assert len(found.rows("container_amount", "amount")) == 4
    [(_, column, reason)] = found.reasons
    assert column == "time_ms"
    assert f"the pod began at {START * 1000}" in reason


@pytest.mark.slow
def test_a_store_says_first_which_file_was_refused_and_what_it_lacks(tmp_path: Path) -> None:
    """CPU in percent beside memory that is right: the store is usable, and says what it is not."""
    folder, store = tmp_path / "made", tmp_path / "store"
    folder.mkdir()
    things = [node("n1"), *(pod(f"web-{at}", nodeName="n1") for at in range(2))]
    written(folder / "cluster.json", listed(*things))
    written(folder / f"{MEMORY}.json", answer(*_use(MEMORY, 2e8)))
    wrong = written(folder / f"{CPU}.json", answer(*_use(CPU, 45.0)))
    with pytest.raises(TracekitError) as raised:
        ingest(folder, store)
    assert raised.value.exit_code == 2
    assert raised.value.what.endswith(
        "; 2 other files went in; the store lacks use of nodes, use of containers: cpu"
    )
    first, *_ = info(store)["doubts"]
    assert (first["because"], first["file"]) == ("refused", f"{CPU}.json")
    assert first["lacks"] == "use of nodes, use of containers: cpu"
    load = workload_from_sizes(open_store(store), sized_assumptions([]), stream(0, "test"))
    assert load.remarks[0].document() == first
    # once the file is right it is no doubt any more
    written(wrong, answer(*_use(CPU, 0.45)))
    ingest(folder, store)
    assert "refused" not in {one["because"] for one in info(store)["doubts"]}


def test_a_refused_file_that_is_taken_away_is_told_no_more(tmp_path: Path) -> None:
    folder, store = tmp_path / "made", tmp_path / "store"
    folder.mkdir()
    written(folder / "cluster.json", listed(node("n1"), pod("web-0", nodeName="n1")))
    wrong = written(folder / f"{CPU}.json", answer(*_use(CPU, 45.0, pods=1)))
    with pytest.raises(TracekitError):
        ingest(folder, store)
    assert list(open_store(store).manifest.refused) == [wrong.name]
    wrong.unlink()
    ingest(folder, store)
    assert open_store(store).manifest.refused == {}
