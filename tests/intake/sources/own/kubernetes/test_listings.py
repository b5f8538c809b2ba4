"""Two lists of one cluster: the later counts, and what it lists no more has left."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from kubernetes_support import CREATED_MS, Object, container, listed, node, owned, pod, written
from reading_support import Reading, opened, read, stored

from tracekit.base.errors import TracekitError
from tracekit.base.files import replacing
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

DAY_MS = 86_400_000
WEB = owned("ReplicaSet", "web-7d4b9c6f5d")


def _web(name: str, day: int = 1, **more: str) -> Object:
    came = {"creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}
    return pod(name, meta={**WEB, **came, **more}, nodeName="n1")


def _read(tmp_path: Path, *lists: list[Object], kind: str = "List") -> list[Reading]:
    """What each of the lists gives beside the others, the earliest first."""
    paths = [
        written(tmp_path / f"{at}.json", listed(*some, kind=kind)) for at, some in enumerate(lists)
    ]
    beside = {"objects": tuple(opened(path) for path in paths)}
    return [read("kubernetes", path, beside) for path in paths]


def _pods(found: list[Reading]) -> list[tuple[object, ...]]:
    """Each pod with the days of its arrival and of its departure."""
    frames = [one.tables["container"] for one in found if "container" in one.tables]
    days = [(pl.col(name) - CREATED_MS) / DAY_MS for name in ("time_ms", "departure_ms")]
    return [row for one in frames for row in one.select("container", *days).rows()]


def test_each_pod_that_was_replaced_left_when_its_replacement_came(tmp_path: Path) -> None:
    before = [node("n1"), *(_web(f"old-{at}") for at in range(3)), pod("db", nodeName="n1")]
    later = [node("n1"), _web("new-0", 3), _web("new-1", 4), pod("db", nodeName="n1")]
    found = _read(tmp_path, before, later)
    assert _pods(found) == [
        ("default/old-0", 0, 2),
        ("default/old-1", 0, 3),
        ("default/old-2", 0, 3),  # nothing replaces it: the later list speaks of that day
        ("default/new-0", 2, None),
        ("default/new-1", 3, None),
        ("default/db", 0, None),
    ]
    assert [one.reasons for one in found] == [[], []]


def test_the_last_size_counts_for_every_pod_and_the_other_is_told(tmp_path: Path) -> None:
    before = [node("n1"), *(pod(f"p{at}", nodeName="n1") for at in range(3))]
    larger = [container("2")]
    later = [node("n1"), *(pod(f"p{at}", nodeName="n1", containers=larger) for at in range(3))]
    found = _read(tmp_path, before, later)
    assert found[1].rows("container_resource", "request") == [(2.0,)] * 3
    assert "container_resource" not in found[0].tables
    told = "of cpu is 0.5, and 2 in 1.json, expected one size: the later file counts"
    assert found[0].reasons == [(at, "request", told) for at in (2, 3, 4)]


def test_a_node_that_is_listed_no_more_is_gone(tmp_path: Path) -> None:
    first, second = _read(tmp_path, [node("n1"), node("n2")], [node("n1"), _web("new", 5)])
    assert first.rows("node", "node", "state") == [("n2", "ready"), ("n2", "gone")]
    assert second.rows("node", "node", "state") == [("n1", "ready")]


def _dated(name: str, day: int | None, **more: object) -> Object:
    """A node whose kubelet was heard last on that day."""
    found = node(name, **more)
    heard = [] if day is None else [{"lastHeartbeatTime": f"2026-01-{day:02}T00:00:00Z"}]
    found["status"]["conditions"] = [{"type": "Ready", "status": "True", **one} for one in heard]
    return found


def test_a_node_has_the_size_and_state_of_each_list_from_its_time_on(tmp_path: Path) -> None:
    """n1 is closed and n2 grows between the lists of the 2nd and the 3rd; n3 is as it was."""
    small, large = {"cpu": "8", "memory": "32Gi"}, {"cpu": "16", "memory": "32Gi"}
    before = [_dated("n1", 2), _dated("n2", 2, allocatable=small), _dated("n3", 2)]
    later = [
        _dated("n1", 3, unschedulable=True),
        _dated("n2", 3, allocatable=large),
        _dated("n3", 3),
    ]
    first, second = _read(tmp_path, before, later)
    assert "node" not in first.tables
    day = (pl.col("time_ms") - CREATED_MS) / DAY_MS
    states = second.tables["node"].select("node", "state", day).sort("node", "time_ms")
    assert states.rows() == [
        ("n1", "ready", 0), ("n1", "closed", 2), ("n2", "ready", 0), ("n3", "ready", 0),
    ]  # fmt: skip
    sizes = second.tables["node_resource"].filter(node="n2", resource="cpu")
    assert sizes.select("amount", day).rows() == [(8.0, 0), (16.0, 2)]
    memory = second.tables["node_resource"].filter(node="n2", resource="memory")
    assert memory.height == 1


def test_where_a_list_says_nothing_of_when_the_later_counts(tmp_path: Path) -> None:
    before = [_dated("n1", None, allocatable={"cpu": "8"}), pod("p", nodeName="n1")]
    later = [_dated("n1", None, allocatable={"cpu": "16"}), _web("new", 5)]
    _, second = _read(tmp_path, before, later)
    assert second.rows("node_resource", "amount") == [(16.0,)]


def test_of_three_lists_each_change_counts_and_one_that_left_is_gone(tmp_path: Path) -> None:
    sizes = ("8", "16", "4")
    some = [
        [
            _dated("n1", at + 2, allocatable={"cpu": cpu}, unschedulable=at == 1),
            *([_dated("n2", at + 2)] if at < 2 else []),
        ]
        for at, cpu in enumerate(sizes)
    ]
    found = _read(tmp_path, *some)
    last = found[-1].tables["node_resource"].filter(node="n1")
    assert last["amount"].to_list() == [8.0, 16.0, 4.0]
    assert found[-1].rows("node", "state") == [("ready",), ("closed",), ("ready",)]
    assert found[1].rows("node", "node", "state") == [("n2", "ready"), ("n2", "gone")]


def test_nodes_that_left_are_a_doubt(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), node("n2"), _web("old")))
    written(folder / "b.json", listed(node("n1"), _web("new", 5)))
    (doubt,) = ingest(folder, tmp_path / "store").doubts
    assert (doubt.because, doubt.about["names"]) == ("node_gone", "n2")


SILENT: dict[str, list[Object]] = {
    "of another namespace": [_web("x", 5, namespace="other")],
    "of other services": [pod("x", meta={"creationTimestamp": "2026-01-05T00:00:00Z"})],
    "of one time": [_web("x")],
}


@pytest.mark.parametrize("case", SILENT)
def test_a_list_says_nothing_of_what_it_does_not_show(tmp_path: Path, case: str) -> None:
    found = _read(tmp_path, [_web("old")], SILENT[case])
    assert _pods(found)[0] == ("default/old", 0, None)


def test_pods_one_by_one_are_no_list(tmp_path: Path) -> None:
    one = written(tmp_path / "a.json", _web("old"))
    other = written(tmp_path / "b.json", _web("new", 5))
    beside = {"objects": (opened(one), opened(other))}
    found = [read("kubernetes", path, beside) for path in (one, other)]
    assert _pods(found) == [("default/old", 0, None), ("default/new", 4, None)]


_WHO = "SELECT container, departure_ms IS NULL FROM container ORDER BY ALL"


@pytest.mark.slow
def test_a_list_that_comes_later_has_the_store_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "monday").mkdir(parents=True)
    written(folder / "monday" / "a.json", listed(node("n1"), _web("old")))
    ingest(folder, tmp_path / "cron")
    (folder / "tuesday").mkdir()
    written(folder / "tuesday" / "a.json", listed(node("n1"), _web("new", 5)))
    summary = ingest(folder, tmp_path / "cron")
    assert summary.anew.endswith("a.json")
    assert summary.store == tmp_path / "cron"
    with Database(open_store(tmp_path / "cron")) as database:
        found = database.frame(_WHO).rows()
    assert found == [("default/new", True), ("default/old", False)]
    assert stored(folder, tmp_path, _WHO) == found
    assert ingest(folder, tmp_path / "cron").ingested == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cron", "mine", "store"]


@pytest.mark.slow
def test_what_lies_in_a_store_that_is_made_anew_stays(tmp_path: Path) -> None:
    folder, store = tmp_path / "mine", tmp_path / "cron"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), _web("old")))
    ingest(folder, store)
    (store / "runs" / "monday").mkdir(parents=True)
    (store / "runs" / "monday" / "run.txt").write_text("a run")
    (store / "notes.txt").write_text("mine")
    (store / "latest").symlink_to("runs/monday")
    os.mkfifo(store / "pipe")
    (store / ".manifest.json.new").write_text("half")
    written(folder / "b.json", listed(node("n1"), _web("new", 5)))
    assert ingest(folder, store).anew == "b.json"
    assert (store / "latest" / "run.txt").read_text() == "a run"
    assert (store / "latest").is_symlink()
    assert (store / "notes.txt").read_text() == "mine"
    assert (store / "pipe").is_fifo()
    assert not (store / ".manifest.json.new").exists()


@pytest.mark.slow
def test_what_a_killed_ingest_left_beside_the_store_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = tmp_path / "mine", tmp_path / "cron"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), _web("old")))
    ingest(folder, store)
    written(folder / "b.json", listed(node("n1"), _web("new", 5)))
    monkeypatch.setattr("tracekit.base.files.replacing.shutil.rmtree", lambda *_args, **_more: None)
    ingest(folder, store)
    monkeypatch.undo()
    assert len(list(tmp_path.glob(".cron.*"))) == 1
    ingest(folder, store)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cron", "mine"]


@pytest.mark.slow
def test_nobody_gets_into_a_store_that_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = tmp_path / "mine", tmp_path / "cron"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), _web("old")))
    ingest(folder, store)
    written(folder / "b.json", listed(node("n1"), _web("new", 5)))
    real, moments = replacing._put_in_place, []

    def put_in_place(made: Path, place: Path) -> None:
        for moment in ("before", "after"):
            with pytest.raises(TracekitError, match="is being written"):
                ingest(folder, store)
            moments.append((moment, len(open_store(store).manifest.parts("container"))))
            if moment == "before":
                real(made, place)

    monkeypatch.setattr(replacing, "_put_in_place", put_in_place)
    ingest(folder, store)
    assert moments == [("before", 1), ("after", 2)]
    monkeypatch.undo()
    assert ingest(folder, store).ingested == []


def test_a_list_that_comes_later_alone_is_refused(tmp_path: Path) -> None:
    first = written(tmp_path / "a.json", listed(node("n1"), _web("old")))
    ingest(first, tmp_path / "before")
    second = written(tmp_path / "b.json", listed(node("n1"), _web("new", 5)))
    with pytest.raises(TracekitError, match=r"of which a\.json is not here") as raised:
        ingest(second, tmp_path / "before")
    assert str(raised.value.hint).startswith("put all of them into one folder")


def test_a_store_stays_where_it_cannot_be_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(folder / "a.json", listed(node("n1"), _web("old")))
    ingest(folder, tmp_path / "before")
    good = written(folder / "b.json", listed(node("n1"), _web("new", 5)))
    good.write_text(good.read_text()[:200])
    with pytest.raises(TracekitError):
        ingest(folder, tmp_path / "before")
    good.unlink()
    assert ingest(folder, tmp_path / "before").ingested == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["before", "mine"]


def test_a_list_that_is_cut_off_is_blamed_alone(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    good = written(tmp_path / "lists" / "good.json", listed(node("n1"), pod("web", nodeName="n1")))
    (tmp_path / "lists" / "bad.json").write_text(good.read_text()[:200])
    with pytest.raises(TracekitError) as told:
        ingest(tmp_path / "lists", tmp_path / "store")
    assert told.value.what.startswith("bad.json: ")
    assert "bad.json, good.json are read together, and none of them was taken in" in told.value.what
    assert "could not be read" not in told.value.what


def test_a_node_that_was_made_anew_under_its_name_has_not_left(tmp_path: Path) -> None:
    again = node("n1", allocatable={"cpu": "16"})
    again["metadata"] |= {"uid": "other", "creationTimestamp": "2026-01-03T00:00:00Z"}
    found = _read(tmp_path, [node("n1", allocatable={"cpu": "8"}), _web("a")], [again, _web("a")])
    assert "node" not in found[0].tables
    assert found[1].rows("node", "node", "state") == [("n1", "ready")]
    assert found[1].rows("node_resource", "time_ms", "amount") == [
        (CREATED_MS, 8.0),
        (CREATED_MS + 2 * DAY_MS, 16.0),
    ]


def test_lists_of_other_namespaces_say_nothing_of_one_another(tmp_path: Path) -> None:
    """As of namespaces a and b in one file, c and d in another, with the same nodes in both."""
    lists = [
        [node("n1"), *(_web(f"{at}", day, namespace=at, uid=at) for at in names)]
        for day, names in ((1, "ab"), (2, "cd"))
    ]
    assert [row[2] for row in _pods(_read(tmp_path, *lists))] == [None] * 4
    # with one in common the later one is of all
    lists[1].append(_web("a", 1, namespace="a", uid="a"))
    left = {row[0]: row[2] for row in _pods(_read(tmp_path, *lists))}
    assert left == {"a/a": None, "b/b": 1, "c/c": None, "d/d": None}
