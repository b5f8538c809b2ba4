"""Who ran where a selector or a taint closes the node now is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster_support import workload
from kubernetes_support import container, listed, node, pod, written

from tracekit.ingest import ingest
from tracekit.replay.workload.constraints.allowed import Allowed
from tracekit.replay.workload.constraints.constraints import Constraints
from tracekit.replay.workload.constraints.ran import barred_now, barred_told
from tracekit.replay.workload.source import source_of
from tracekit.store import open_store

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Of two pods on a node that was tainted one bears it; one asks for a label that is gone."""
    bears = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    asks = {"nodeSelector": {"disk": "ssd"}}
    pods = [
        pod(name, nodeName=where, containers=[container("1")], **more)
        for name, where, more in (
            ("web", "n1", {}), ("ml", "n1", bears), ("db", "n2", asks), ("api", "n2", {}),
        )
    ]  # fmt: skip
    nodes = [node("n1", taints=[TAINT]), node("n2"), node("n3", labels={"disk": "ssd"})]
    files = tmp_path / "files"
    files.mkdir()
    written(files / "cluster.json", listed(*nodes, *pods))
    ingest(files, tmp_path / "store")
    return tmp_path / "store"


def test_it_is_told_with_what_closes_the_node(store: Path) -> None:
    (said,) = (one for one in workload(open_store(store)).told if " ran where " in one)
    assert said.startswith("2 containers ran where their selector or a taint closes the node now")
    assert "default/web on n1, which has the taint dedicated=ml:NoSchedule" in said
    assert "default/db on n2, which lacks the label disk=ssd" in said


def test_who_stays_where_it_ran_is_not_meant(store: Path) -> None:
    load = source_of(store, None, assume=("start=observed",)).load()
    assert not [one for one in load.told if " ran where " in one]


def test_many_are_counted() -> None:
    mask = np.array([[True, False, True]])
    closed = Constraints(parts=(Allowed(label="selector", of=np.zeros(5, np.int64), mask=mask),))
    ran = np.array([1, 0, 1, 1, 1])
    found = barred_now(closed, ran)
    assert [at for at, _ in found] == [0, 2, 3, 4]
    (said,) = barred_told(found, ran, list("abcde"), ["n0", "n1", "n2"])
    assert said.startswith("4 containers ran ")
    assert said.endswith("d on n1, which is closed by selector; and 1 more")
    assert barred_now(None, ran) == []
    assert barred_now(closed, np.full(5, -1)) == []
