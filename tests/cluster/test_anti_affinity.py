"""Rules on which services share a node, through a whole replay."""

from __future__ import annotations

import numpy as np
import polars as pl
from replay_support import changed, workload

from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.rules import sharing
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.run import choose_policies, replay

SERVICES = ("s0", "s1", "s2")


def limited(load: Workload, found: list[tuple[int, int, int]]) -> Workload:
    service = np.array(
        [SERVICES.index(name) if name in SERVICES else -1 for name in load.containers.services]
    )
    limits = sharing(service, np.array(found, np.int64).reshape(-1, 3), load.nodes.count)
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
