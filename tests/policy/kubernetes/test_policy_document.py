"""Policy documents of old schedulers: priorities, predicates, extenders."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from replay_support import workload
from scheduler_documents import written

from tracekit.base.errors import TracekitError
from tracekit.policy.parse import parse_policy
from tracekit.policy.profile import Profile
from tracekit.replay.engine.engine import Engine


def test_priorities_of_a_policy_document(tmp_path: Path) -> None:
    bare = {"kind": "Policy", "apiVersion": "v1"}
    made = parse_policy(str(written(tmp_path, bare, "policy.json")))
    assert isinstance(made, Profile)
    assert [(one.weight, one.policy.name()) for one in made.parts] == [
        (1, "selector_spread"), (1, "least_requested"), (1, "balanced_allocation")
    ]  # fmt: skip
    assert made.lifts == frozenset()
    rack_argument = {"serviceAntiAffinity": {"label": "rack"}}
    own = {
        **bare,
        "predicates": [
            {"name": "GeneralPredicates"},
            {"name": "Marked", "argument": {"labelsPresence": {"labels": ["a"], "presence": True}}},
        ],
        "priorities": [
            {"name": "ServiceSpreadingPriority", "weight": 3},
            {"name": "EvenPodsSpreadPriority", "weight": 2},
            {"name": "Racks", "weight": 1, "argument": rack_argument},
        ],
    }
    made = parse_policy(str(written(tmp_path, own, "own.json")))
    assert isinstance(made, Profile)
    assert [(one.weight, one.policy.name()) for one in made.parts] == [(3, "selector_spread")]
    [own_rules, silent] = made.notes
    assert "Racks, Marked" in own_rules
    assert "EvenPodsSpreadPriority" in silent


LEGACY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}, {"name": "MyPredicate"}],
    "priorities": [{"name": "LeastRequestedPriority", "weight": 2}, {"name": "Odd", "weight": 1}],
    "extenders": [
        {
            "urlPrefix": "http://127.0.0.1:8888/scheduler",
            "apiVersion": "v1beta1",
            "prioritizeVerb": "priorities/bnp",
            "weight": 5,
            "enableHttps": False,
            "nodeCacheCapable": False,
        },
        {"urlPrefix": "http://x/", "prioritizeVerb": "score", "weight": 3},
        {"urlPrefix": "http://y/", "prioritizeVerb": "most_allocated", "weight": 3},
    ],
}


def test_the_policy_document_of_an_extender(tmp_path: Path) -> None:
    made = parse_policy(str(written(tmp_path, LEGACY, "policy.json")))
    assert isinstance(made, Profile)
    weighed = [(part.weight, str(part.policy), part.how) for part in made.parts]
    assert weighed == [
        (2.0, "least_requested[max_score=100]", "of_hundred"),
        (1.0, "bnp[weight=5,builtin=none]", "as_is"),
        (30.0, "most_allocated", "tenths"),
    ]
    groups = {"apart", "together", "affinity", "anti-affinity", "spread"}
    assert made.lifts == {"selector", "ports", *groups}  # predicates on taints are mandatory
    text = "\n".join(made.notes)
    assert "MyPredicate" in text
    assert "http://127.0.0.1:8888/scheduler" in text
    assert "'score'" in text
    load = workload([(1000, 1000)] * 4, [(at, 9000, 100, 100) for at in range(6)])
    assert Engine(load, made, np.random.default_rng(0)).run().node.min() >= 0


def test_an_extender_of_ten_counts_whole_tenths(tmp_path: Path) -> None:
    document = copy.deepcopy(LEGACY)
    document["priorities"] = []
    document["extenders"] = [
        {"urlPrefix": "http://y/", "prioritizeVerb": "most_allocated", "weight": 1}
    ]
    made = parse_policy(str(written(tmp_path, document, "policy.json")))
    # 17 % and 12 % are both 1 of 10: the first wins; 35 % is 3
    load = workload(
        [(1000, 1000), (1400, 1400), (500, 500)], [(0, 9000, 170, 170), (1, 9000, 1, 1)]
    )
    assert Engine(load, made, np.random.default_rng(0)).run().node.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("extender", "named"),
    [
        ({"prioritizeVerb": "score"}, True),
        ({"prioritizeVerb": "priorities/bnp", "filterVerb": "filter"}, True),
        ({"prioritizeVerb": "priorities/bnp"}, False),
    ],
)
def test_a_row_whose_extender_is_left_out_does_not_look_like_what_people_run(
    tmp_path: Path, extender: dict[str, str], named: bool
) -> None:
    one = {"urlPrefix": "http://x/", "weight": 1, **extender}
    path = written(tmp_path, {"kind": "Policy", "apiVersion": "v1", "extenders": [one]}, "ext.json")
    policy = parse_policy(str(path))
    assert str(policy) == ("ext.json[without=extender]" if named else "ext.json")
    again = f"{path}[without=extender]"
    if named:
        assert parse_policy(again) == policy
    else:
        with pytest.raises(TracekitError, match="without"):
            parse_policy(again)
