"""Constraints out of tables, held to a slow reading of what Kubernetes says."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.build import constraints_of, not_held
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraints import Constraints

KEYS = ("zone", "disk", "cores")
VALUES = ("a", "b", "8", "16")
NODE_COLUMNS = dict.fromkeys(("node", "zone", "rack", "labels", "taints", "state"), pl.String)
ASKS = np.array([[1000, 10]])

label = some.dictionaries(some.sampled_from(KEYS[1:]), some.sampled_from(VALUES))
taint = some.fixed_dictionaries(
    {"key": some.sampled_from("kl"), "effect": some.sampled_from(
        ["NoSchedule", "NoExecute", "PreferNoSchedule"])},
    optional={"value": some.sampled_from("vw")},
)  # fmt: skip
requirement = some.one_of(
    some.fixed_dictionaries({
        "key": some.sampled_from(KEYS),
        "operator": some.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        "values": some.lists(some.sampled_from(VALUES), max_size=2),
    }),
    some.fixed_dictionaries({
        "key": some.sampled_from(KEYS), "operator": some.sampled_from(["Gt", "Lt"]),
        "values": some.lists(some.sampled_from(["7", "8", "9"]), min_size=1, max_size=1),
    }),
)  # fmt: skip
toleration = some.fixed_dictionaries(
    {},
    optional={
        "key": some.sampled_from("kl"), "value": some.sampled_from("vw"),
        "operator": some.sampled_from(["Equal", "Exists"]),
        "effect": some.sampled_from(["NoSchedule", "NoExecute"]),
    },
)  # fmt: skip
node_rows = some.lists(
    some.tuples(some.sampled_from(["a", "b", None]), label, some.lists(taint, max_size=2),
                some.sampled_from(["ready", "closed", None])),
    min_size=1, max_size=4,
)  # fmt: skip
container_rows = some.lists(
    some.tuples(some.lists(some.lists(requirement, max_size=2), max_size=2),
                some.lists(toleration, max_size=2)),
    min_size=1, max_size=4,
)  # fmt: skip


def meets(requested: Any, labels: dict[str, str]) -> bool:
    value, operator, values = (
        labels.get(requested["key"]),
        requested["operator"],
        requested["values"],
    )
    if operator in ("Exists", "DoesNotExist"):
        return bool((value is not None) == (operator == "Exists"))
    if operator in ("In", "NotIn"):
        return bool((value in values) == (operator == "In"))
    if value is None or not value.isdigit():
        return False
    bound = int(values[0])
    return int(value) > bound if operator == "Gt" else int(value) < bound


def tolerates(one: dict[str, str], mark: dict[str, str]) -> bool:
    if one.get("effect", mark["effect"]) != mark["effect"]:
        return False
    if not one.get("key"):
        return one.get("operator") == "Exists"
    if one["key"] != mark["key"]:
        return False
    return one.get("operator") == "Exists" or one.get("value", "") == mark.get("value", "")


def may_run(node: Any, container: Any) -> bool:
    zone, own, marks, state = node
    labels = {**({"zone": zone} if zone else {}), **own}
    wanted, tolerated = container
    chosen = not wanted or any(
        bool(all_of) and all(meets(one, labels) for one in all_of) for all_of in wanted
    )
    closing = [mark for mark in marks if mark["effect"] != "PreferNoSchedule"]
    if state == "closed":
        closing.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return chosen and all(any(tolerates(one, mark) for one in tolerated) for mark in closing)


def built(nodes: pl.DataFrame, containers: pl.DataFrame, **given: Any) -> Constraints | None:
    request = np.repeat(ASKS, containers.height, axis=0)
    capacity = np.repeat(ASKS * 100, nodes.height, axis=0)
    cells, rules = given.pop("cells", None), given.pop("rules", None)
    return constraints_of(
        nodes, cells, containers, rules, request=request, capacity=capacity, **given
    )


@settings(max_examples=150)
@given(node_rows, container_rows)
def test_selectors_and_taints_say_what_kubernetes_says(nodes: Any, containers: Any) -> None:
    made = built(
        pl.DataFrame(
            [
                (f"n{at}", zone, None, json.dumps(own) if own else None,
                 json.dumps(marks) if marks else None, state)
                for at, (zone, own, marks, state) in enumerate(nodes)
            ],
            schema=NODE_COLUMNS, orient="row",
        ),
        pl.DataFrame(
            [(f"c{at}", json.dumps(wanted), json.dumps(fine))
             for at, (wanted, fine) in enumerate(containers)],
            schema={"container": pl.String, "selector": pl.String, "tolerations": pl.String},
            orient="row",
        ),
    )  # fmt: skip
    keeper = made.keeper(len(nodes)) if made else None
    for at, container in enumerate(containers):
        expected = [may_run(node, container) for node in nodes]
        assert keeper.open(at).tolist() == expected if keeper else all(expected)  # type: ignore[union-attr]
        for part in made.parts if made else ():
            closed = list(part.why(at, len(nodes)).values())
            none = np.zeros(len(nodes), np.bool_)
            assert (np.any([none, *closed], axis=0) == ~part.keeper(len(nodes)).open(at)).all()


NODES = pl.DataFrame(
    {
        "node": ["n0", "n1", "n2"],
        "zone": ["a", "a", "b"],
        "rack": ["r", None, None],
        "labels": ['{"disk": "ssd"}', None, None],
    }
)
#: columns of containers, and which nodes are open to the second once the first is on n0
CASES: dict[str, tuple[dict[str, list[Any]], list[bool]]] = {
    "apart by node unless told": ({"apart": ["g", "g"]}, [False, True, True]),
    "apart by zone": ({"apart": ["g", "g"], "apart_domain": ["zone", "zone"]},
                      [False, False, True]),
    "two may share": ({"apart": ["g", "g"], "apart_domain": [None, ""], "apart_most": [2, None]},
                      [False, True, True]),
    "two may share a zone": ({"apart": ["g", "g"], "apart_domain": ["zone"] * 2,
                              "apart_most": [2, 2]}, [True, True, True]),
    "who has no rack limits nobody": ({"apart": ["g", "g"], "apart_domain": ["rack"] * 2},
                                      [False, True, True]),
    "other groups": ({"apart": ["g", "h"]}, [True, True, True]),
    "groups by other domains are others": (
        {"apart": ["g", "g"], "apart_domain": ["zone", "node"]}, [True, True, True]),
    "together": ({"together": ["g", "g"], "together_domain": ["zone"] * 2}, [True, True, False]),
    "together by a label": ({"together": ["g", "g"], "together_domain": ["disk"] * 2},
                            [True, False, False]),
    "both": ({"together": ["g", "g"], "together_domain": ["zone"] * 2, "apart": ["g", "g"]},
             [False, True, False]),
    "a plain nodeSelector": ({"selector": [None, '{"disk": "ssd", "zone": "a"}']},
                             [True, False, False]),
    "by name": ({"selector": [None, '[[{"key": "metadata.name", "values": ["n2"]}]]']},
                [False, False, True]),
    "an empty selector": ({"selector": ["", "[]"]}, [True, True, True]),
    "a daemon's are not asked": ({"selector": [None, "["], "daemon": [0, 1]}, [True, True, True]),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "expected"), CASES.values(), ids=CASES)
def test_groups_and_selectors(columns: dict[str, list[Any]], expected: list[bool]) -> None:
    made = built(NODES, pl.DataFrame({"container": ["c0", "c1"], **columns}))
    if made is None:
        assert all(expected)
        return
    keeper = made.keeper(3)
    keeper.add(0, 0)
    result = keeper.open(1)
    assert result is not None
    assert result.tolist() == expected


def test_groups_by_what_no_node_states_are_counted_not_held() -> None:
    containers = pl.DataFrame(
        {
            "container": ["c0", "c1", "c2"],
            "apart": ["g", "g", None],
            "apart_domain": ["domain", "domain", "domain"],
            "together": ["h", None, "i"],
            "together_domain": ["no/such", "node", "node"],
        }
    )
    assert not_held(NODES, containers) == {
        "containers_not_held_apart_by_domain": 2,
        "containers_not_held_together_by_no/such": 1,
    }
    made = built(NODES, containers)
    assert made is not None
    assert [part.name for part in made.parts] == ["together by node"]


def test_cells_in_the_order_of_their_numbers_and_a_node_without_is_one() -> None:
    cells = pl.DataFrame(
        [("n0", "cpu", "10", 4.0, "cores"), ("n0", "cpu", "9", 2.0, "cores"),
         ("n0", "cpu", None, 6.0, "cores"), ("n0", "memory", "9", 7.0, "bytes"),
         ("n2", "cpu", "9", 0.5, "fraction"), ("gone", "cpu", "9", 1.0, "cores"),
         ("n2", "gpu", "9", 8.0, "count")],
        schema=["node", "resource", "cell", "amount", "unit"], orient="row",
    )  # fmt: skip
    containers = pl.DataFrame({"container": ["c0", "c1"], "numa_cells": [None, 2]})
    made = built(NODES, containers, cells=cells, whole={"cpu": 8})
    assert made is not None
    (result,) = made.parts
    assert isinstance(result, Cells)
    assert result.capacity.tolist() == [
        [[2000, 7], [4000, 0]], [[100_000, 1000], [0, 0]], [[4000, 0], [0, 0]]
    ]  # fmt: skip
    assert result.numa_cells.tolist() == [0, 2]
    with pytest.raises(TracekitError, match="fraction"):
        built(NODES, containers, cells=cells)
    assert built(NODES, containers.with_columns(numa_cells=None), cells=cells) is None


WRONG = {
    "selector": ["[", '"x"', '["x"]', '[[{"operator": "In"}]]',
                 '[[{"key": "k", "operator": "is"}]]',
                 '[[{"key": "k", "operator": "Gt", "values": ["x"]}]]',
                 '[[{"key": "k", "values": "x"}]]'],
    "tolerations": ["{", '{"key": "k"}', '[{"operator": "Like"}]'],
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "text"), [(column, text) for column, texts in WRONG.items() for text in texts]
)
def test_what_cannot_be_read_names_the_container(column: str, text: str) -> None:
    tainted = NODES.with_columns(taints=pl.lit('[{"key": "k", "effect": "NoSchedule"}]'))
    containers = pl.DataFrame({"container": ["c0", "c1"], column: [None, text]})
    with pytest.raises(TracekitError, match=f"container 'c1' has {column}"):
        built(tainted, containers)


def test_a_large_cluster_takes_seconds() -> None:
    """13,000 nodes with a name of their own each, 100,000 containers, 2,000 selectors."""
    nodes, containers = 13_000, 100_000
    tainted = '[{"key": "k", "effect": "NoSchedule"}]'
    frame = pl.DataFrame(
        {
            "node": [f"n{at}" for at in range(nodes)],
            "labels": [json.dumps({"host": f"n{at}", "kind": str(at % 7)}) for at in range(nodes)],
            "taints": [tainted if at % 10 == 0 else None for at in range(nodes)],
        }
    )
    selectors = [json.dumps([[{"key": "host", "operator": "NotIn", "values": [f"n{at}"]},
                              {"key": "kind", "values": [str(at % 7)]}]])
                 for at in range(2000)]  # fmt: skip
    wanted = pl.DataFrame(
        {
            "container": [f"c{at}" for at in range(containers)],
            "selector": [selectors[at % 2000] for at in range(containers)],
            "apart": [f"g{at % 9000}" for at in range(containers)],
        }
    )
    began = time.process_time()
    made = built(frame, wanted)
    assert time.process_time() - began < 10
    assert made is not None
    assert len(made.parts) == 3
