"""Answers that came with a warning: they are read, and a doubt says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from facts_support import the
from kubernetes_support import answer, listed, node, pod, series, written
from reading_support import read
from series_support import MEMORY, NAME

import tracekit
from tracekit.store.doubts import doubts
from tracekit.store.folder import open_store

SAID = "partial response: store unavailable"
REASON = f"is of an answer that came with a warning: {SAID}"
SERIES = series(MEMORY, [(1_767_225_600, 7e8)], namespace="default", pod="web-1", container="main")
CASES: list[tuple[str, dict[str, Any], list[Any], list[str]]] = [
    ("store away", {"warnings": [SAID]}, [SERIES], [REASON]),
    ("nothing came", {"warnings": [SAID]}, [], [REASON]),
    ("told twice", {"warnings": [SAID, SAID]}, [SERIES], [REASON]),
    ("remarks", {"infos": ["PromQL info: x"], "warnings": ["PromQL info: y"]}, [SERIES], []),
    ("null", {"warnings": None}, [SERIES], []),
]


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    ("members", "some", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_warning_is_a_reject_beside_the_rows(
    tmp_path: Path, members: dict[str, Any], some: list[Any], expected: list[str], first: bool
) -> None:
    whole = answer(*some)
    made = {"status": "success", **members, **whole} if first else {**whole, **members}
    found = read(NAME, written(tmp_path / "answer.json", json.dumps(made)))
    assert [one.reason for one in found.broken] == expected
    assert bool(found.tables) == bool(some)


def test_a_warning_is_a_doubt_of_the_store(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    written(folder / "k.json", listed(node("n1"), pod("web-1", nodeName="n1")))
    written(folder / "use.json", json.dumps({**answer(SERIES), "warnings": [SAID]}))
    tracekit.ingest(folder, tmp_path / "store")
    partial = the(doubts(open_store(tmp_path / "store")), "partial_answers")
    assert (partial.value, partial.about["table"]) == (1, "container_amount")
