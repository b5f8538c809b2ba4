"""Nodes that stay for a reason of their own, and are named."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import changed, workload
from shrink_support import row, shrunk

from tracekit.answer.fewest.cluster import special_nodes
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.workload import Workload

#: 60 nodes, of which little is used: seven hold it all at the ceiling.
PLAIN = workload([(100, 100)] * 60, [(0, 9000, 25, 10)] * 20, used_share=1.0)


def with_gpus(*nodes: int) -> Workload:
    """Some nodes have four GPUs, which nobody asks for: see M3 of the reviews."""
    none = np.zeros((PLAIN.containers.count, 1), np.int64)
    request = np.hstack([PLAIN.containers.request, none])
    gpus = 4 * np.isin(np.arange(60), nodes).astype(np.int64)
    return changed(
        PLAIN,
        nodes={"capacity": np.column_stack([PLAIN.nodes.capacity, gpus])},
        containers={"request": request, "nonzero_request": request, "limit": request},
        resources=(*PLAIN.resources, "gpu"),
    )


def closed(label: str, of: list[int], open_: list[int]) -> Workload:
    mask = np.isin(np.arange(60), open_)[None]
    part = Allowed(label=label, of=np.array(of), mask=mask)
    return changed(PLAIN, rules={"constraints": Constraints(parts=(part,))})


OTHERS = [at for at in range(60) if at not in (40, 41)]
CASES = [
    (with_gpus(40, 41), {40: "gpu", 41: "gpu"}, "gpu"),
    # from 5 % on they are a pool, which shrinks under its own constraints
    (with_gpus(40, 41, 42), {}, "gpu"),
    # all but two containers bear no taint, and two nodes have one
    (closed("taints", [-1, -1, *[0] * 18], OTHERS), {40: "tainted", 41: "tainted"}, "tainted"),
    # one container asks for a label that two nodes have
    (closed("selector", [0, *[-1] * 19], [40, 41]), {40: "tainted", 41: "tainted"}, "tainted"),
]


@pytest.mark.parametrize(("load", "special", "released"), CASES)
def test_special_nodes_stay_unless_they_may_go(
    load: Workload, special: dict[int, str], released: str
) -> None:
    assert special_nodes(load) == special
    assert special_nodes(load, (released,)) == {}
    study = shrunk(load, policies=["worst_fit"])
    nodes = study.frames["nodes"]
    named = dict(nodes.drop_nulls("special").select("node", "special").iter_rows())
    assert named == {f"n{at}": reason for at, reason in special.items()}
    assert row(study, "worst_fit")["special_nodes"] == len(special)
    assert set(named) <= set(nodes.filter("kept")["node"])
    freed = row(shrunk(load, policies=["worst_fit"], may_remove=[released]), "worst_fit")
    assert freed["special_nodes"] == 0
    assert freed["nodes"] <= row(study, "worst_fit")["nodes"]


def test_a_node_without_use_stays_where_others_have_some() -> None:
    background = np.ones((2, 4, 60), np.float32)
    background[:, :, 50] = 0
    load = changed(PLAIN, use={"background": background})
    assert special_nodes(load) == {50: "no_use"}
    ran = load.containers.recorded_node.copy()
    ran[0] = 50
    assert special_nodes(changed(load, containers={"recorded_node": ran})) == {}
    background[:, :, 40:] = 0
    assert special_nodes(changed(load, use={"background": background})) == {}


def test_a_node_stays_whose_container_may_not_be_evicted() -> None:
    """Production runs the first container on n30, and the second, which has no owner, on n31."""
    where = np.arange(20)
    where[:2] = 30, 31
    services = ("s", PLAIN.containers.ids[1], *["s"] * 18)
    never = np.arange(20) == 0
    load = changed(
        PLAIN,
        containers={"recorded_node": where, "services": services},
        rules={"never_evicted": never},
    )
    assert special_nodes(load) == {30: "pinned", 31: "pinned"}
    assert special_nodes(load, ("pinned",)) == {}
    # daemons go with their node, and who has departed is on none
    daemon = changed(load, rules={"daemon": np.arange(20) < 2})
    assert special_nodes(daemon) == {}
    gone = np.where(np.arange(20) < 2, 2000, load.containers.departure_ms)
    assert special_nodes(changed(load, containers={"departure_ms": gone})) == {}
    # where no owner is recorded at all, nothing tells a container without one
    bare = changed(
        load, containers={"services": load.containers.ids}, rules={"never_evicted": None}
    )
    assert special_nodes(bare) == {}
