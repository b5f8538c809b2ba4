"""Parts of the use of one pod or node add up, each once; in several files they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from kubernetes_support import written
from reading_support import read
from series_support import (
    MEMORY,
    NAME,
    Made,
    Sample,
    amounts_of,
    answered,
    as_dump,
    as_range,
    at_times,
    files_beside,
    of_pod,
)

from tracekit.base.errors import TracekitError

RATE = "container_cpu_usage_seconds_total"
TOTAL, AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"


def test_a_half_that_the_file_has_not_is_told(tmp_path: Path) -> None:
    at, more = {"instance": "n1:9100"}, {"instance": "n2:9100"}
    made: list[Made] = [
        (TOTAL, at, at_times(100, 100)),
        (AVAILABLE, at, at_times(40, 30)),
        (AVAILABLE, more, at_times(40, 30)),
    ]
    found = read(NAME, written(tmp_path / "both.txt", as_dump(made)))
    assert [row[1:4] for row in amounts_of(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert len(found.reasons) == 1


def _answer(path: Path, *some: tuple[dict[str, str], list[Sample]], name: str = RATE) -> Path:
    return written(path, answered(name, list(some)))


def _sums(folder: Path, table: str = "container") -> dict[tuple[object, object], list[object]]:
    """What all files of a folder give together, by whom and resource, in order of time."""
    paths = sorted(folder.iterdir())
    rows = [
        row
        for path in paths
        if f"{table}_amount" in (found := read(NAME, path, files_beside(*paths))).tables
        for row in amounts_of(found, table)
    ]
    told: dict[tuple[object, object], list[object]] = {}
    for _, who, what, amount, _ in sorted(rows, key=str):
        told.setdefault((who, what), []).append(amount)
    return told


#: Parts of one use in two files: metric, and labels of each.
DIVIDED: dict[str, tuple[str, dict[str, str], str, dict[str, str]]] = {
    "containers": (RATE, of_pod(), RATE, of_pod(container="side")),
    "modes": (
        "node_cpu_seconds_total",
        {"instance": "n1:9100", "cpu": "0", "mode": "user"},
        "node_cpu_seconds_total",
        {"instance": "n1:9100", "cpu": "0", "mode": "system"},
    ),
    "halves": (TOTAL, {"instance": "n1:9100"}, AVAILABLE, {"instance": "n1:9100"}),
}


@pytest.mark.parametrize("parts", DIVIDED.values(), ids=DIVIDED)
def test_parts_of_one_use_in_two_files_are_refused(
    tmp_path: Path, parts: tuple[str, dict[str, str], str, dict[str, str]]
) -> None:
    name, labels, other, others = parts
    paths = (
        _answer(tmp_path / f"{name}-1.json", (labels, at_times(1, 2)), name=name),
        _answer(tmp_path / f"{other}-2.json", (others, at_times(2, 3)), name=other),
    )
    with pytest.raises(TracekitError) as refused:
        read(NAME, max(paths), files_beside(*paths))
    assert "tracekit fetch prometheus" in str(refused.value.hint)


ALIKE: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "overlap": ({}, {}),
    "replicas of Prometheus": ({"prometheus_replica": "a"}, {"prometheus_replica": "b"}),
    "two that scrape it": ({"job": "kubelet", "instance": "a:1"}, {"job": "cadvisor"}),
    "two starts of the container": ({"id": "/x/1", "image": "a"}, {"id": "/x/2", "image": "b"}),
}


@pytest.mark.parametrize(("first", "second"), ALIKE.values(), ids=ALIKE)
def test_one_container_seen_twice_counts_once(
    tmp_path: Path, first: dict[str, str], second: dict[str, str]
) -> None:
    """In one file, and in two."""
    some = [(MEMORY, of_pod(**more), at_times(100, 110)) for more in (first, second)]
    for form, name in ((as_range, "one.json"), (as_dump, "one.txt")):
        found = read(NAME, written(tmp_path / name, form(some)))
        assert [row[3] for row in amounts_of(found)] == [100.0, 110.0]
        assert bool(found.reasons) == (first == second and form is as_range)
    two = tmp_path / "two"
    two.mkdir()
    for at, one in enumerate(some):
        written(two / f"{at}.json", as_range([one]))
    assert set(_sums(two)["default/web-1", "memory"]) == {100.0, 110.0}


def test_days_are_their_own(tmp_path: Path) -> None:
    """Of a pod whose files follow each other each has its own rows."""
    later = [(at + 86_400, value) for at, value in at_times(3, 4)]
    _answer(tmp_path / f"{RATE}-1.json", (of_pod(), at_times(1, 2)))
    _answer(tmp_path / f"{RATE}-2.json", (of_pod(container="side"), later))
    paths = sorted(tmp_path.iterdir())
    found = [read(NAME, path, files_beside(*paths)) for path in paths]
    assert [[row[3] for row in amounts_of(one)] for one in found] == [[1.0, 2.0], [3.0, 4.0]]
