"""A recorded case of any shape is answered or refused in one line: damage x place x kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracekit.base.errors import TracekitError
from tracekit.replay.cases.scoring import score_file

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*_*.json"))

#: What a hand or a bug may put in place of any value.
DAMAGES: list[Any] = [
    None, True, "", "x\x1b[31m", -1, 0, 1.5, 10**30, 10**400, -(10**19), 1e308, -1e308,
    [], {}, [[]], [None], {"cpu_milli": "1"}, {"": None}, [1, "a"],
]  # fmt: skip


def cases() -> list[dict[str, Any]]:
    """One case of each kind and document, with its document's policy."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in GOLDEN:
        document = json.loads(path.read_text(encoding="utf-8"))
        for case in document["cases"]:
            policy = case.get("policy") or document.get("policy")
            whole = {**case, **({"policy": policy} if policy else {})}
            found.setdefault((path.stem, case["kind"]), whole)
    return list(found.values())


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
            said = refused(file)
            assert not said or said.startswith((f"{file}: case 1", f"'{file}' ")), (at, value)


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
