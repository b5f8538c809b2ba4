"""A shared workload is the same one, whoever reads it, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from constraint_support import constrained
from replay_support import Row, changed, workload

from tracekit.base.arrays import IntArray
from tracekit.base.facts import remark
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import sharing
from tracekit.cluster.gangs import with_gangs
from tracekit.cluster.source import shared
from tracekit.cluster.workload import Workload

ROWS: list[Row] = [(at * 10, 90_000, 5 + at, 3, at % 4) for at in range(1200)]
LOAD = workload([(100, 100)] * 40, ROWS, steps=40)
RULES = np.array([[0, 1, 2]])
CALLS = CallWeights(
    kind=np.arange(1200) % 3,
    offsets=np.array([0, 1, 2, 2]),
    neighbours=np.array([1, 0]),
    calls=np.array([2.5, 2.5]),
)


REMARKS = (remark("unpriced", 3, "nodes", of=40), remark("fit_proxy"))


def ruled(limits: IntArray) -> Constraints:
    return Constraints(parts=(sharing(np.arange(1200) % 3 - 1, limits, LOAD.nodes.count),))


CASES = {
    "plain": LOAD,
    "rules": changed(
        LOAD, rules={"constraints": ruled(RULES)}, provenance={"assumptions": {"a": 1.5, "b": "c"}}
    ),
    "calls": changed(
        LOAD, rules={"calls": CALLS}, provenance={"facts": {"rows_stray": 3}, "remarks": REMARKS}
    ),
    "no rule": changed(LOAD, rules={"constraints": ruled(np.empty((0, 3), dtype=np.int64))}),
    **{f"constrained {seed}": constrained(LOAD, np.random.default_rng(seed)) for seed in (1, 2)},
    "ganged": with_gangs(
        changed(
            LOAD,
            containers={"exchangeable": np.ones(1200, dtype=np.bool_)},
            use={"values": np.ones_like(LOAD.use.values)},
        )
    ),
}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(
            left, right, equal_nan=left.dtype == "f4"
        )
    if dataclasses.is_dataclass(left):
        fields = dataclasses.fields(left)
        return all(same(getattr(left, f.name), getattr(right, f.name)) for f in fields)
    if isinstance(left, tuple) and left and dataclasses.is_dataclass(left[0]):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) and type(left) is type(right)


@pytest.mark.parametrize("load", CASES.values(), ids=CASES)
def test_what_is_read_is_what_was_shared(load: Workload, tmp_path: Path) -> None:
    with shared(load, tmp_path / ".run.unfinished" / "workload") as given:
        read = given.load()
        for field in dataclasses.fields(Workload):
            assert same(getattr(load, field.name), getattr(read, field.name)), field.name
    assert list(tmp_path.iterdir()) == []
    # what was read stays readable
    assert same(load.use.values, read.use.values)


def test_a_large_array_is_a_mapping_of_its_file(tmp_path: Path) -> None:
    with shared(LOAD, tmp_path / "workload") as given:
        path = str(tmp_path / "workload" / "use.values.npy")
        assert path not in Path("/proc/self/maps").read_text()
        read = given.load()
        assert path in Path("/proc/self/maps").read_text()
        assert not read.use.values.flags.owndata


def test_what_is_kept_beside_stays_and_what_was_left_behind_goes(tmp_path: Path) -> None:
    beside, folder = tmp_path / "beside", tmp_path / "workload"
    beside.write_text("kept")
    folder.mkdir()
    (folder / "use.values.npy").write_text("of a run that was killed")
    with shared(LOAD, folder) as given:
        assert same(given.load().use.values, LOAD.use.values)
    assert list(tmp_path.iterdir()) == [beside]
