"""Racks and zones of nodes: from columns, by name, on some of the nodes, shared and near."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
from replay_support import changed, container, snapshot, workload

from tracekit.cluster.calls import call_weights
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.parts import domains_of
from tracekit.cluster.source import shared
from tracekit.policy.profile import calls_that_stay
from tracekit.policy.view.snapshot import Snapshot

COLUMNS: dict[str, list[str | None]] = {
    "zone": ["a", "a", "b", None],
    "rack": ["r1", "r2", "r1", None],
    "domain": [None] * 4,
}


def test_columns_become_positions_of_names() -> None:
    found = domains_of(COLUMNS)
    assert found is not None
    assert found.kinds == ("rack", "zone")
    zone = found.by("zone")
    assert zone is not None
    assert [found.names[at] if at >= 0 else None for at in zone] == COLUMNS["zone"]
    assert found.named("zone", "a").tolist() == [0, 1]
    assert found.named("rack", "a").tolist() == []
    assert found.by("domain") is None
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
    near = calls_that_stay(seen(domains=True), caller)
    # zone a has 3 of 4, rack r1 holds nodes 0 and 2 although in two zones
    assert near[0] == 0.5 + 2 / 3 * 0.25 + 1 / 3 * 0.0
    assert near[1] == 0.25 + 1 / 3 * 0.5
    assert near[3] == 0.0
