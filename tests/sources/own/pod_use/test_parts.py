"""Parts of the use of one pod or node that lie in several files add up, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written
from reading_support import read
from series_support import (
    FORMS,
    MEMORY,
    NAME,
    START,
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

from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.store import open_store

RATE = "container_cpu_usage_seconds_total"
TOTAL, AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"


@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_the_halves_of_a_difference_may_lie_in_two_files(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    """An answer to query_range holds one metric; the file of what is available has the rows."""
    at = {"instance": "n1:9100"}
    total = written(tmp_path / f"total-{name}", form([(TOTAL, at, at_times(100, 100))]))
    available = written(tmp_path / f"left-{name}", form([(AVAILABLE, at, at_times(40, 30))]))
    beside = files_beside(total, available)
    found = read(NAME, available, beside)
    assert [row[1:4] for row in amounts_of(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert found.reasons == []
    # no row is there twice
    other = read(NAME, total, beside)
    assert "node_amount" not in other.tables
    assert other.reasons == []


def test_a_half_that_no_file_has_is_told(tmp_path: Path) -> None:
    at = {"instance": "n1:9100"}
    more = {"instance": "n2:9100"}
    total = written(tmp_path / "total.txt", as_dump([(TOTAL, at, at_times(100, 100))]))
    left = [(AVAILABLE, at, at_times(40, 30)), (AVAILABLE, more, at_times(40, 30))]
    available = written(tmp_path / "left.txt", as_dump(left))
    found = read(NAME, available, files_beside(total, available))
    assert [row[1:4] for row in amounts_of(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == [
        "has 2 times with one of two metrics"
    ]
    alone = read(NAME, total, files_beside(total))
    assert [reason.split(",")[0] for _, _, reason in alone.reasons] == [
        "has 2 times with one of two metrics"
    ]


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


def test_containers_of_a_pod_in_two_answers_add_up(tmp_path: Path) -> None:
    """Of web-2 and web-3 each is in one file alone; no time is there twice."""
    main, side = of_pod(), of_pod(container="side")
    _answer(
        tmp_path / f"{RATE}-1.json", (main, at_times(0.5, 0.25)), (of_pod("web-2"), at_times(1, 1))
    )
    _answer(
        tmp_path / f"{RATE}-2.json", (side, at_times(0.125, 1)), (of_pod("web-3"), at_times(2, 2))
    )
    assert _sums(tmp_path) == {
        ("default/web-1", "cpu"): [0.625, 1.25],
        ("default/web-2", "cpu"): [1.0, 1.0],
        ("default/web-3", "cpu"): [2.0, 2.0],
    }


@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_containers_of_a_pod_in_two_files_of_any_form_add_up(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    for at, inner in enumerate(("main", "side", "third")):
        made: list[Made] = [(MEMORY, of_pod(container=inner), at_times(100 * at + 1, 100 * at + 2))]
        written(tmp_path / f"{at}-{name}", form(made))
    assert _sums(tmp_path) == {("default/web-1", "memory"): [303.0, 306.0]}


def test_containers_in_files_of_two_forms_and_steps_add_up_on_a_grid(tmp_path: Path) -> None:
    """Every 30 s in the dump, every 60 s in the answer: what was last seen of each holds."""
    dumped: list[Sample] = [(START + 30 * at, 100.0 + at) for at in range(5)]
    asked: list[Sample] = [(START + 60 * at, 10.0 * (1 + at)) for at in range(3)]
    written(tmp_path / "b.txt", as_dump([(MEMORY, of_pod(), dumped)]))
    _answer(tmp_path / f"{MEMORY}.json", (of_pod(container="side"), asked), name=MEMORY)
    assert _sums(tmp_path)["default/web-1", "memory"] == [110.0, 111.0, 122.0, 123.0, 134.0]


def test_modes_of_a_node_in_two_files_add_up(tmp_path: Path) -> None:
    name = "node_cpu_seconds_total"
    for mode, cores in (("user", 2), ("system", 1), ("idle", 5)):
        some = [({"instance": "n1:9100", "cpu": cpu, "mode": mode}, at_times(cores, cores))
                for cpu in ("0", "1")]  # fmt: skip
        _answer(tmp_path / f"{name}-{mode}.json", *some, name=name)
    assert _sums(tmp_path, "node") == {("n1", "cpu"): [6.0, 6.0]}


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


@pytest.mark.slow
def test_a_store_is_made_anew_where_a_container_comes_later(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    written(mine / "objects.json", listed(node("n1"), pod("web-1", nodeName="n1")))
    side = of_pod(container="side")
    _answer(mine / f"{RATE}-1.json", (of_pod(), at_times(0.5, 0.25)))
    ingest(mine, tmp_path / "store")
    _answer(mine / f"{RATE}-2.json", (side, at_times(0.125, 0.5)))
    assert ingest(mine, tmp_path / "store").anew == f"{RATE}-2.json"
    with Database(open_store(tmp_path / "store")) as database:
        rows = database.frame("SELECT amount FROM container_amount ORDER BY time_ms").rows()
    assert rows == [(0.625,), (0.75,)]
    # what another pod uses is added to the store, and changes nothing
    _answer(mine / f"{RATE}-3.json", (of_pod("web-2"), at_times(1, 1)))
    assert not ingest(mine, tmp_path / "store").anew
