"""Recorded cases: answered as upstream answers them, compared, explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tracekit.commands.shell import run
from tracekit.replay.cases.scoring import differences, parse_case_policy, score_file


def case(**changes: Any) -> dict[str, Any]:
    """One node of 1000/1000 with 400/100 on it; a pod of 100/200: 50 and 70 free, 60 together."""
    pods = [{"containers": [{"requests": {"cpu_milli": 400, "memory_bytes": 100}}]}]
    return {
        "name": "hand-made",
        "kind": "score",
        "inputs": {
            "args": {"strategy": "LeastAllocated", "resources": [["cpu", 1], ["memory", 1]]},
            "nodes": [
                {"name": "n", "allocatable": {"cpu_milli": 1000, "memory_bytes": 1000},
                 "pods": pods}
            ],
            "pod": {"containers": [{"requests": {"cpu_milli": 100, "memory_bytes": 200}}]},
        },
        "expected": {"scores": {"n": 60}},
        **changes,
    }  # fmt: skip


def written(path: Path, document: object) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def test_one_case_finds_its_policy_by_the_strategy(tmp_path: Path) -> None:
    (one,) = score_file(Path(written(tmp_path / "case.json", case())))
    assert one.document() == {"name": "hand-made", "kind": "score", "scores": {"n": 60}}
    assert one.differences == []


def test_a_policy_on_the_command_line_wins(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "case.json", case()))
    chosen = parse_case_policy("least_allocated[resources=cpu:1+memory:3]")
    (weighted,) = score_file(path, chosen)
    assert weighted.answer.values == {"scores": {"n": 65}}
    (other,) = score_file(path, parse_case_policy("balanced_allocation"))
    assert other.answer.values == {"scores": {"n": 90}}
    assert len(other.differences) == 1


TOLERANT = [
    ({"x": 1.0, "tolerance": 0.1}, {"x": 1.05}, []),
    ({"x": 100.0, "relative_tolerance": 0.1}, {"x": 109.0}, []),
    ({"x": 1}, {"x": 2}, ["x"]),
    ({"x": [1, 2]}, {"x": [1, 3]}, ["x[1]"]),
    ({"x": [1]}, {"x": [1, 2]}, ["x"]),
    ({"x": {"a": 1}}, {"x": {"a": 1, "b": 2}}, ["x.b"]),
    ({"x": True}, {"x": 1}, ["x"]),
    ({"x": "Skip"}, {}, ["x"]),
]


@pytest.mark.parametrize(("expected", "found", "differ"), TOLERANT)
def test_differences(expected: dict[str, Any], found: dict[str, Any], differ: list[str]) -> None:
    assert [one.partition(":")[0] for one in differences(expected, found)] == differ


def test_an_unknown_kind_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "c.json", {"policy": "x", "cases": [case(kind="balance_act")]})
    assert run(["explain", path, "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "hand-made", "kind": "balance_act", "skipped": ANY}
    ]


def test_check_fails_with_the_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "case.json", case(expected={"scores": {"n": 61}}))
    assert run(["explain", path, "--check"]) == 1
    shown = capsys.readouterr()
    assert "hand-made" in shown.err
    assert "60" in shown.out
