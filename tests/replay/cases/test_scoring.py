"""Recorded cases: answered as upstream answers them, compared, explained."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from tests_support import SHARED

from tracekit.base.errors import TracekitError
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


@pytest.mark.parametrize(("expected", "result", "differ"), TOLERANT)
def test_differences(expected: dict[str, Any], result: dict[str, Any], differ: list[str]) -> None:
    assert [one.partition(":")[0] for one in differences(expected, result)] == differ


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


CARRIED = sorted((Path(__file__).parents[2] / "golden").glob("*_*.json"))
OTHERS = sorted(SHARED.glob("golden/upstream/*.json")) + sorted(
    SHARED.glob("golden/derived/*.json")
)


def check(path: Path) -> None:
    scored = score_file(path)
    assert len(scored) == len(json.loads(path.read_text(encoding="utf-8"))["cases"])
    assert [(one.name, one.skipped, list(one.differences)) for one in scored] == [
        (one.name, "", []) for one in scored
    ]


@pytest.mark.parametrize("path", CARRIED, ids=lambda path: path.stem)
def test_carried_documents(path: Path) -> None:
    check(path)


@pytest.mark.skipif(not OTHERS, reason="further recorded documents are not at hand")
@pytest.mark.parametrize(
    "path", OTHERS or [Path("none")], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_documents_at_hand(path: Path) -> None:
    check(path)


def test_documents_are_carried() -> None:
    assert {"k8s_scheduler_core", "trimaran_peaks", "trimaran_resource_stats"} <= {
        path.stem for path in CARRIED
    }


#: What a hand or a bug may put in place of any value.
DAMAGES: list[Any] = [
    None, True, "", "x\x1b[31m", -1, 0, 1.5, 10**30, 10**400, -(10**19), 1e308, -1e308,
    [], {}, [[]], [None], {"cpu_milli": "1"}, {"": None}, [1, "a"],
]  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """One case of each kind and document, with its document's policy."""
    results: dict[tuple[str, str], dict[str, Any]] = {}
    for path in CARRIED:
        document = json.loads(path.read_text(encoding="utf-8"))
        for case in document["cases"]:
            policy = case.get("policy") or document.get("policy")
            whole = {**case, **({"policy": policy} if policy else {})}
            results.setdefault((path.stem, case["kind"]), whole)
    return list(results.values())


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a document."""
    yield at
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, one in value.items() if isinstance(value, dict) else ():
        yield from places(one, (*at, key))


def damaged(case: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The case with another value at a place."""
    made = copy.deepcopy(case)
    holder: Any = made
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = value
    return made


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['kind']}-{case.get('policy')}")
def test_any_damage_is_answered_or_refused_in_one_line(
    case: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "case.json"
    rng = np.random.default_rng(0)
    everywhere = [at for at in places(case) if at]
    for at in (everywhere[one] for one in rng.permutation(len(everywhere))[:6]):
        for value in DAMAGES:
            file.write_text(json.dumps(damaged(case, at, value)))
            message = refused(file)
            assert not message or message.startswith((f"{file}: case 1", f"'{file}' ")), (at, value)


def refused(file: Path) -> str:
    """What is said of a file that is refused; '' when it is answered."""
    try:
        score_file(file)
    except TracekitError as error:
        return error.what
    return ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind": "max_variance", "inputs": {"m1": NaN}}', "number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"kind": "max_variance", "inputs": {"m1": ' + "9" * 5000 + "}}", "is not JSON"),
        ('{"kind": "max_variance", "inputs": {}}', "inputs"),
        ("\x00", "is not JSON"),
    ],
)
def test_what_is_no_case_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(text)
    with pytest.raises(TracekitError, match=message):
        score_file(file)
