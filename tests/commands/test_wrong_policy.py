"""A wrong policy is told before anything is read: here the workload is not even there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from tracekit.base.errors import TracekitError

WRONG = ["least_alocated"]
#: Each verb with a store or trace that would fail if it were read.
VERBS: dict[str, Callable[[Path], Any]] = {
    "replay": lambda at: tracekit.replay(at / "none", WRONG, out=at / "run"),
    "replay, repeated": lambda at: tracekit.replay(
        at / "none", ["first_fit"], out=at / "run", repeat_policies=WRONG
    ),
    "run": lambda at: tracekit.run(at / "none", at / "out", policies=WRONG),
    "nodes": lambda at: tracekit.nodes(at / "none", policies=WRONG),
    "sensitivity": lambda at: tracekit.sensitivity(at / "none", policies=[*WRONG, "first_fit"]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_policy_is_told_before_the_workload_is_read(verb: str, tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="'least_alocated'") as told:
        VERBS[verb](tmp_path)
    assert "least_allocated" in (told.value.hint or "")
    assert not list(tmp_path.iterdir())


def test_a_wrong_assumption_is_told_before_anything_is_read_or_made(tmp_path: Path) -> None:
    wrong = ["node_cpu_core=3"]
    for call in (
        lambda: tracekit.run("synth:tiny", tmp_path / "out", assume=wrong),
        lambda: tracekit.sensitivity(tmp_path / "none", changes=wrong),
    ):
        with pytest.raises(TracekitError, match="'node_cpu_core'") as told:
            call()
        assert "'node_cpu_cores'" in str(told.value.hint)
    assert not list(tmp_path.iterdir())
