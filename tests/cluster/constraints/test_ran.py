"""Containers on nodes that a selector or a taint closes now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster_support import workload
from kubernetes_support import container, listed, node, pod, written
from tests_support import causes, the

from tracekit.cluster.assembly.replayed import barred_now
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.source import source_of
from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store

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


def test_the_first_has_what_closes_its_node(store: Path) -> None:
    barred = the(workload(open_store(store)).provenance.remarks, "barred_now")
    assert (barred.value, barred.about["names"]) == (2, "default/db, default/web")
    assert barred.about["node"] == "n2"
    assert "disk=ssd" in str(barred.about["why"])


def test_who_stays_where_it_ran_is_not_meant(store: Path) -> None:
    load = source_of(open_store(store), None, assume=("start=observed",)).load()
    assert "barred_now" not in causes(load.provenance.remarks)


def test_of_those_that_ran_the_barred_are_named() -> None:
    mask = np.array([[True, False, True]])
    closed = Constraints(parts=(Allowed(label="selector", of=np.zeros(5, np.int64), mask=mask),))
    result = barred_now(closed, np.array([1, 0, 1, 1, 1]))
    assert [at for at, _ in result] == [0, 2, 3, 4]
    assert barred_now(None, np.array([1, 0, 1, 1, 1])) == []
    assert barred_now(closed, np.full(5, -1)) == []
