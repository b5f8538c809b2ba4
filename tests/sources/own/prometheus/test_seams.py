"""Replicas of Prometheus that follow each other see one counter; those side by side count once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from kubernetes_support import listed, node, pod, written
from reading_support import read
from series_support import (
    CPU,
    FORMS,
    NAME,
    START,
    Made,
    amounts_of,
    as_export,
    files_beside,
    of_pod,
)

from tracekit.ingest import ingest
from tracekit.query import Database
from tracekit.sources.own._pod_use.parts import Parts
from tracekit.sources.own._roster.roster import roster
from tracekit.store import open_store

_STEP_S = 60
_COUNT = 60
_RISES = np.random.default_rng(3).integers(1, 200, _COUNT - 1).tolist()
_VALUES = [10, *(10 + np.cumsum(_RISES)).tolist()]
_AT = [START + 7 + _STEP_S * at for at in range(_COUNT)]
_RATES = [rise / _STEP_S for rise in _RISES]

#: From which sample until before which one each replica was there.
FAILOVERS: Mapping[str, list[tuple[str, int, int]]] = {
    "one after the other": [("r0", 0, 30), ("r1", 30, 60)],
    "the first comes back": [("r0", 0, 20), ("r1", 20, 24), ("r0", 24, 60)],
    "the first comes back late": [("r0", 0, 20), ("r1", 20, 40), ("r0", 40, 60)],
    "a third one": [("r0", 0, 10), ("r1", 10, 11), ("r2", 11, 60)],
    "they overlap": [("r0", 0, 35), ("r1", 25, 60)],
    "both all the time": [("r0", 0, 60), ("r1", 0, 60)],
    "one fills the hole of the other": [("r0", 0, 20), ("r0", 24, 60), ("r1", 0, 60)],
}


def _by_replica(some: Sequence[tuple[str, int, int]], container: str = "main") -> list[Made]:
    there: dict[str, list[int]] = {}
    for replica, first, end in some:
        there.setdefault(replica, []).extend(range(first, end))
    return [
        (
            CPU,
            of_pod(container=container, prometheus_replica=replica),
            [(_AT[at], _VALUES[at]) for at in every],
        )
        for replica, every in there.items()
    ]


def _amounts(*paths: Path) -> list[float]:
    """The amounts that all files give together, of one time the first."""
    found: dict[int, float] = {}
    for path in paths:
        tables = read(NAME, path, files_beside(*paths))
        if "container_amount" in tables.tables:
            for time, _, _, amount, _ in amounts_of(tables):
                found.setdefault(int(str(time)), float(str(amount)))
    return [found[time] for time in sorted(found)]


@pytest.mark.parametrize(("_", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
@pytest.mark.parametrize("some", FAILOVERS.values(), ids=FAILOVERS)
def test_replicas_are_one_counter(
    tmp_path: Path,
    _: str,
    name: str,
    form: Callable[[Sequence[Made]], str],
    some: list[tuple[str, int, int]],
) -> None:
    """In one file, and in a file for each of them; of one container and of two."""
    made = _by_replica(some)
    assert _amounts(written(tmp_path / name, form(made))) == pytest.approx(_RATES)
    two = [*made, *_by_replica(some, "side")]
    doubled = _amounts(written(tmp_path / f"two-{name}", form(two)))
    assert doubled == pytest.approx([2 * rate for rate in _RATES])
    paths = [written(tmp_path / f"{at}-{name}", form([one])) for at, one in enumerate(made)]
    assert _amounts(*paths) == pytest.approx(_RATES)


@pytest.mark.parametrize("named_first", [False, True])
@pytest.mark.parametrize("by_time", [False, True])
def test_who_adds_the_label_goes_on_with_one_counter(
    tmp_path: Path, named_first: bool, by_time: bool
) -> None:
    """Half of the samples lay in a series without the label, and the seam was in no row."""
    made = _by_replica([("r0", 0, 30), ("r1", 30, 60)])
    at = 0 if named_first else 1
    labels = {**made[1 - at][1]}
    del labels["prometheus_replica"]
    made[1 - at] = (CPU, labels, made[1 - at][2])
    ordered = made if by_time else made[::-1]
    assert _amounts(written(tmp_path / "a.jsonl", as_export(ordered))) == pytest.approx(_RATES)


def test_replicas_side_by_side_count_once_whenever_they_scrape(tmp_path: Path) -> None:
    """A steady pod; one replica is 20 seconds behind and lacks some scrapes."""
    made: list[Made] = [
        (
            CPU,
            of_pod(container=inner, prometheus_replica=f"r{behind}"),
            [(time + behind, 2.0 * (time + behind - START)) for time in some],
        )
        for inner in ("main", "side")
        for behind, some in ((0, _AT), (20, _AT[:20] + _AT[24:]))
    ]
    found = _amounts(written(tmp_path / "export.jsonl", as_export(made)))
    assert found == pytest.approx([4.0] * len(found))
    assert _COUNT - 1 <= len(found) <= _COUNT


def test_replicas_in_two_files_are_not_held(tmp_path: Path) -> None:
    """Only samples of one series that lie between others of it in another file are."""
    paths = [
        written(
            tmp_path / f"{behind}.jsonl",
            as_export(
                [
                    (
                        CPU,
                        of_pod(prometheus_replica=f"r{behind}"),
                        [(time + behind, value) for time, value in zip(_AT, _VALUES, strict=True)],
                    )
                ]
            ),
        )
        for behind in (0, 20)
    ]
    beside = files_beside(*paths)
    [(word, files)] = beside.items()
    opened = files[0]
    assert not Parts(opened, word, roster(opened, word)).followed.woven


@pytest.mark.slow
def test_a_replica_goes_on_in_a_later_ingest(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    written(mine / "objects.json", listed(node("n1"), pod("web-1", nodeName="n1")))
    first, second = _by_replica(FAILOVERS["one after the other"])
    written(mine / "a.jsonl", as_export([first]))
    ingest(mine, tmp_path / "store")
    written(mine / "b.jsonl", as_export([second]))
    ingest(mine, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        rows = database.frame("SELECT amount FROM container_amount ORDER BY time_ms").rows()
    assert [amount for (amount,) in rows] == pytest.approx(_RATES)
