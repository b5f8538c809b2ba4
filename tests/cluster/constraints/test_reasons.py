"""Why selectors and taints close nodes: the reasons are together what is closed, in words."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tracekit.cluster.constraints import reasons
from tracekit.cluster.constraints.allowed import Suited
from tracekit.cluster.constraints.constraint import Reason
from tracekit.cluster.constraints.labels import Labels

NODES = pl.DataFrame(
    {
        "node": ["n0", "n1", "n2", "n3"],
        "labels": ['{"disk": "ssd", "cpus": "8"}', '{"disk": "hdd"}', '{"old": "yes"}', None],
        "taints": [None, '[{"key": "own", "effect": "NoExecute"}]', None, None],
        "state": ["ready", "ready", "closed", "ready"],
    }
)


def _suited(*requested: object, tolerations: object = None) -> Suited:
    texts = [json.dumps(one) for one in requested]
    bears = None if tolerations is None else json.dumps(tolerations)
    rows = {"container": texts, "selector": texts, "tolerations": [bears] * len(texts)}
    containers = pl.DataFrame(rows, schema_overrides={"tolerations": pl.String})
    return Suited(Labels(NODES), NODES, containers)


def _one(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ({"disk": "ssd"}, ["3 nodes lack the label disk=ssd"]),
        ([[_one("disk", "In", "ssd", "hdd")]], ["2 nodes lack the label disk=ssd or hdd"]),
        ([[_one("disk", "NotIn", "hdd")]], ["1 node has the label disk=hdd"]),
        ([[_one("disk", "Exists")]], ["2 nodes lack the label disk"]),
        ([[_one("old", "DoesNotExist")]], ["1 node has the label old"]),
        ([[_one("cpus", "Gt", "4")]], ["3 nodes lack the label cpus above 4"]),
        ([[_one("metadata.name", "In", "n1")]], ["3 nodes are not n1"]),
        (
            [[_one("disk", "Exists"), _one("old", "Exists")]],
            ["2 nodes lack the label disk", "3 nodes lack the label old"],
        ),
        (
            [[_one("disk", "In", "ssd"), _one("old", "DoesNotExist")], [_one("old", "Exists")]],
            ["2 nodes meet none of: disk=ssd and no old | old"],
        ),
    ],
)
def test_selectors(requested: object, expected: list[str]) -> None:
    part = _suited(requested).selectors()
    assert part is not None
    result = part.why(0, 4)
    assert [reason.of(int(mask.sum())) for reason, mask in result.items()] == expected
    assert (np.logical_or.reduce(list(result.values())) == ~part.keeper(4).open(0)).all()


def test_too_many_are_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "_MOST", 0)
    part = _suited({"disk": "ssd"}).selectors()
    assert part is not None
    assert part.reasons is None
    assert list(part.why(0, 4)) == [Reason("", "selector")]
