"""A workload: its checks, domains of nodes, rules on services, and sharing between processes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from constraint_support import constrained
from replay_support import Row, changed, container, snapshot, workload

from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.facts import remark
from tracekit.cluster.calls import CallWeights, call_weights
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import sharing
from tracekit.cluster.gangs import with_gangs
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.parts import domains_of
from tracekit.cluster.resources import BASE
from tracekit.cluster.source import shared
from tracekit.cluster.workload import Workload, nonzero
from tracekit.policy.entrant import Entrants
from tracekit.policy.profile import calls_that_stay
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.runs.run import choose_policies, replay

GOOD = workload([(100, 100), (50, 50)], [(0, 4000, 10, 10), (500, 2000, 60, 20)])

NO_USAGE = GOOD.use.values.copy()
NO_USAGE[1, 1, 1] = np.nan
ENDLESS = np.where(np.isnan(GOOD.use.values), np.nan, np.inf).astype(np.float32)

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a node twice": ({"nodes": {"ids": ("n", "n")}}, "node 'n' is there twice"),
    "a container twice": ({"containers": {"ids": ("c", "c")}}, "container 'c' is there twice"),
    "no containers": ({"containers": {"ids": ()}}, "the workload has no container"),
    "no capacity": (
        {"nodes": {"capacity": np.array([[100, 100], [50, 0]])}},
        "node 'n1' has memory_bytes 0, expected more than 0",
    ),
    "a negative request": (
        {"containers": {"request": np.array([[10, -1], [1, 1]])}},
        "container 'c0' requests -1 memory_bytes, expected 0 or more",
    ),
    "departure before arrival": (
        {"containers": {"departure_ms": np.array([4000, 400])}},
        "container 'c1' departs at 400 ms, expected after its arrival at 500 ms",
    ),
    "no usage while running": (
        {"use": {"values": NO_USAGE}},
        "container 'c1' uses 30 cpu_milli and nan memory_bytes at 1000 ms, expected numbers",
    ),
    "less than no usage": (
        {"use": {"values": -GOOD.use.values}},
        "container 'c0' uses -5 cpu_milli and -5 memory_bytes at 0 ms",
    ),
    "endless usage": ({"use": {"values": ENDLESS}}, "container 'c0' uses inf cpu_milli"),
    "a node's own use is not known": (
        {"use": {"background": GOOD.use.background * np.nan}},
        "node 'n0' uses nan cpu_milli and nan memory",
    ),
    "exchangeable without usage from the start": (
        {"containers": {"exchangeable": np.array([False, True])}},
        "container 'c1' uses nan cpu_milli",
    ),
    "out of order": (
        {"containers": {"arrival_ms": np.array([500, 0])}},
        "must be in order of arrival",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_refused(name: str) -> None:
    change, message = BROKEN[name]
    with pytest.raises(TracekitError) as raised:
        changed(GOOD, **change)
    assert message in raised.value.what


def test_what_fits_no_node_is_found() -> None:
    assert GOOD.too_large().tolist() == []
    request = np.array([[10, 10], [60, 101]])
    assert changed(GOOD, containers={"request": request}).too_large().tolist() == [1]


def test_defaults_replace_only_what_is_not_stated() -> None:
    request = np.array([[0, 0], [0, 5]])
    stated = np.array([[False, False], [True, True]])
    assert nonzero(request, stated, BASE).tolist() == [[100, 200 * 2**20], [0, 5]]


COLUMNS: dict[str, list[str | None]] = {
    "zone": ["a", "a", "b", None],
    "rack": ["r1", "r2", "r1", None],
    "domain": [None] * 4,
}


def test_columns_become_positions_of_names() -> None:
    result = domains_of(COLUMNS)
    assert result is not None
    assert result.kinds == ("rack", "zone")
    zone = result.by("zone")
    assert zone is not None
    assert [result.names[at] if at >= 0 else None for at in zone] == COLUMNS["zone"]
    assert result.named("zone", "a").tolist() == [0, 1]
    assert result.named("rack", "a").tolist() == []
    assert result.by("domain") is None
    assert domains_of({"zone": [None]}) is None


def test_they_go_with_the_nodes_and_to_other_processes(tmp_path: Path) -> None:
    load = workload([(9, 9)] * 4, [(0, 9000, 1, 1)])
    load = changed(load, nodes={"domains": domains_of(COLUMNS)})
    with shared(load, tmp_path / "shared") as folder:
        again = folder.load().nodes.domains
    assert again is not None
    assert load.nodes.domains is not None
    assert (again.kinds, again.names) == (load.nodes.domains.kinds, load.nodes.domains.names)
    assert again.of.tolist() == load.nodes.domains.of.tolist()
    some = on_nodes(load, np.array([2, 0])).nodes.domains
    assert some is not None
    assert some.of.tolist() == load.nodes.domains.of[:, [2, 0]].tolist()


def seen(*, domains: bool) -> Snapshot:
    """Four containers of service s, which all calls of service t go to."""
    plain = snapshot([(9, 9)] * 4, [(1, 1)] * 4)
    calls = call_weights(
        ("s", "s", "s", "s", "t"),
        pl.DataFrame({"upstream": ["t"], "downstream": ["s"], "calls": [1.0]}),
    )
    placed = dataclasses.replace(plain.placed, node=np.array([0, 0, 1, 2]), index=np.arange(4))
    where = domains_of(COLUMNS) if domains else None
    return dataclasses.replace(plain, known_calls=calls, known_placed=placed, domains=where)


def test_calls_count_less_the_farther_they_go() -> None:
    caller = dataclasses.replace(container(1, 1), kind=1)
    alone = calls_that_stay(seen(domains=False), caller)
    assert alone.tolist() == [0.5, 0.25, 0.25, 0.0]
    close = calls_that_stay(seen(domains=True), caller)
    # zone a has 3 of 4, rack r1 holds nodes 0 and 2 although in two zones
    assert close[0] == 0.5 + 2 / 3 * 0.25 + 1 / 3 * 0.0
    assert close[1] == 0.25 + 1 / 3 * 0.5
    assert close[3] == 0.0


SERVICES = ("s0", "s1", "s2")


def limited(load: Workload, result: list[tuple[int, int, int]]) -> Workload:
    service = np.array(
        [SERVICES.index(name) if name in SERVICES else -1 for name in load.containers.services]
    )
    limits = sharing(service, np.array(result, np.int64).reshape(-1, 3), load.nodes.count)
    return changed(load, rules={"constraints": Constraints(parts=(limits,))})


def placed(load: Workload, policy: str) -> pl.DataFrame:
    run = replay(load, choose_policies(Entrants.of([policy]), load), seed=0)
    return run.placements.filter(pl.col("policy") == policy)


def test_a_closed_node_is_passed_over_until_its_holder_leaves() -> None:
    """s0 on n0; no s1 beside it. The first s1 goes to n1; the next finds n1 full and waits."""
    load = workload([(10, 10), (10, 10)], [(0, 2000, 1, 1), (10, 9000, 9, 9), (20, 9000, 9, 9)])
    load = changed(load, containers={"services": ("s0", "s1", "s1")})
    load = limited(load, [(0, 1, 0)])
    assert placed(load, "first_fit")["node"].to_list() == ["n0", "n1", "n0"]
    assert placed(load, "first_fit")["time_ms"].to_list() == [0, 10, 2000]


def test_production_is_shown_as_it_was() -> None:
    """Rules hold for policies; what production did against them is replayed all the same."""
    load = workload([(10, 10)] * 2, [(0, 9000, 1, 1, 0), (10, 9000, 1, 1, 0)])
    load = changed(load, containers={"services": ("s0", "s1")})
    assert placed(limited(load, [(0, 1, 0)]), "observed")["node"].to_list() == ["n0", "n0"]


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
