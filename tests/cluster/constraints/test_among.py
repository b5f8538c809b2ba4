"""Rules about other pods, held to a slow reading of the pods' own JSON.

The reading follows kubernetes v1.34 interpodaffinity/filtering.go, podtopologyspread/filtering.go
and nodeports: pod by pod, node by node.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import Row, changed, workload

from tracekit.cluster.constraints.build import constraints_of, not_held
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.intake.sources.own._kubernetes import rules
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import MakePlacer, PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer

Thing = dict[str, Any]
Running = Sequence[tuple[Thing, Thing]]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def open_to(pod: Thing, node: Thing, nodes: Iterable[Thing], running: Running) -> bool:
    """Whether a pod may come to a node while others run: pairs of pod and node."""
    return (
        not _ports_clash(pod, node, running)
        and _kept_apart(pod, node, running)
        and _near(pod, node, running)
        and all(_even(one, pod, node, list(nodes), running) for one in _spreads(pod))
    )  # fmt: skip


def selects(selector: Thing | None, labels: Thing) -> bool:
    """Whether a selector of labels means who wears these; None means nobody."""
    if selector is None:
        return False
    meets: dict[str, Callable[[str, list[str]], bool]] = {
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
        "Exists": lambda key, _: key in labels,
        "DoesNotExist": lambda key, _: key not in labels,
    }
    return all(labels.get(k) == v for k, v in selector.get("matchLabels", {}).items()) and all(
        meets[one["operator"]](one["key"], one.get("values", []))
        for one in selector.get("matchExpressions", [])
    )


def labels(thing: Thing) -> dict[str, str]:
    """Labels of a pod or a node."""
    return dict(thing["metadata"].get("labels", {}))


def _terms(pod: Thing, kind: str) -> list[Thing]:
    return list(pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED, []))


def _means(owner: Thing, term: Thing, other: Thing) -> bool:
    spaces = term.get("namespaces") or [owner["metadata"]["namespace"]]
    every = term.get("namespaceSelector") == {}
    inside = every or other["metadata"]["namespace"] in spaces
    return inside and selects(term.get("labelSelector"), labels(other))


def _shares(key: str, node: Thing, other: Thing) -> bool:
    return key in labels(node) and labels(node)[key] == labels(other).get(key)


def _kept_apart(pod: Thing, node: Thing, running: Running) -> bool:
    for other, where in running:
        for owner, meant in ((pod, other), (other, pod)):
            for term in _terms(owner, "podAntiAffinity"):
                if _means(owner, term, meant) and _shares(term["topologyKey"], node, where):
                    return False
    return True


def _near(pod: Thing, node: Thing, running: Running) -> bool:
    terms = _terms(pod, "podAffinity")
    if not all(term["topologyKey"] in labels(node) for term in terms):
        return False
    meant = [where for other, where in running if all(_means(pod, term, other) for term in terms)]
    if terms and not any(term["topologyKey"] in labels(w) for w in meant for term in terms):
        return all(_means(pod, term, pod) for term in terms)
    return all(any(_shares(term["topologyKey"], node, w) for w in meant) for term in terms)


def _spreads(pod: Thing) -> list[Thing]:
    rows = pod["spec"].get("topologySpreadConstraints", [])
    return [row for row in rows if row["whenUnsatisfiable"] == "DoNotSchedule"]


def _even(one: Thing, pod: Thing, node: Thing, nodes: list[Thing], running: Running) -> bool:
    key = one["topologyKey"]
    if key not in labels(node):
        return False
    wanted = pod["spec"].get("nodeSelector", {})
    honoured = one.get("nodeAffinityPolicy", "Honor") == "Honor"
    counting = [
        n
        for n in nodes
        if all(row["topologyKey"] in labels(n) for row in _spreads(pod))
        and not (honoured and any(labels(n).get(k) != v for k, v in wanted.items()))
    ]
    counts = {labels(n)[key]: 0 for n in counting}
    space = pod["metadata"]["namespace"]
    for other, where in running:
        own = other["metadata"]["namespace"] == space
        if own and where in counting and selects(one["labelSelector"], labels(other)):
            counts[labels(where)[key]] += 1
    if not counts:
        return True
    fewest = min(counts.values()) if len(counts) >= one.get("minDomains", 1) else 0
    more = int(selects(one["labelSelector"], labels(pod)))
    return bool(counts.get(labels(node)[key], 0) + more - fewest <= one["maxSkew"])


def _ports(pod: Thing) -> list[tuple[int, str, str]]:
    return [
        (port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP", "0.0.0.0"))  # noqa: S104
        for one in pod["spec"].get("containers", [])
        for port in one.get("ports", [])
        if port.get("hostPort")
    ]


def _ports_clash(pod: Thing, node: Thing, running: Running) -> bool:
    return any(
        (number, kind) == (n, k) and (a == b or "0.0.0.0" in (a, b))  # noqa: S104
        for other, where in running
        if where is node
        for number, kind, a in _ports(pod)
        for n, k, b in _ports(other)
    )


KEYS = ("zone", "kubernetes.io/hostname", "rack")
NAMES = some.sampled_from("ab")
worn = some.dictionaries(some.sampled_from(["app", "tier"]), NAMES)
expression = some.fixed_dictionaries({
    "key": some.sampled_from(["app", "tier"]),
    "operator": some.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    "values": some.lists(NAMES, max_size=2),
})  # fmt: skip
selector = some.one_of(
    some.none(),
    some.fixed_dictionaries({"matchLabels": worn}),
    some.fixed_dictionaries({"matchExpressions": some.lists(expression, max_size=2)}),
)
term = some.fixed_dictionaries(
    {"topologyKey": some.sampled_from(KEYS), "labelSelector": selector},
    optional={"namespaces": some.lists(NAMES, max_size=2), "namespaceSelector": some.just({})},
)
terms = some.fixed_dictionaries({REQUIRED: some.lists(term, max_size=2)})
spread = some.fixed_dictionaries(
    {
        "topologyKey": some.sampled_from(KEYS),
        "labelSelector": selector,
        "maxSkew": some.integers(1, 2),
        "whenUnsatisfiable": some.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    },
    optional={
        "minDomains": some.integers(1, 3),
        "nodeAffinityPolicy": some.sampled_from(["Honor", "Ignore"]),
    },
)
port = some.fixed_dictionaries(
    {"hostPort": some.integers(80, 81)},
    optional={
        "protocol": some.sampled_from(["TCP", "UDP"]),
        "hostIP": some.sampled_from(["0.0.0.0", "10.0.0.1", "10.0.0.2"]),  # noqa: S104
    },
)
spec = some.fixed_dictionaries(
    {},
    optional={
        "affinity": some.fixed_dictionaries(
            {}, optional={"podAffinity": terms, "podAntiAffinity": terms}
        ),
        "topologySpreadConstraints": some.lists(spread, max_size=2),
        "nodeSelector": some.fixed_dictionaries({"zone": NAMES}),
        "containers": some.lists(
            some.fixed_dictionaries({"ports": some.lists(port, max_size=2)}), max_size=1
        ),
    },
)
pods = some.lists(some.tuples(NAMES, worn, spec), min_size=1, max_size=7)
zones = some.lists(some.tuples(NAMES, some.booleans()), min_size=1, max_size=5)
moves = some.lists(some.tuples(some.integers(0, 6), some.integers(0, 5)), max_size=12)


def pod(namespace: str, labels: Thing, inside: Thing) -> Thing:
    return {"metadata": {"name": "p", "namespace": namespace, "labels": labels}, "spec": inside}


def nodes_of(zones: list[tuple[str, bool]]) -> list[Thing]:
    """Nodes with a zone each; some have a rack."""
    results = []
    for at, (zone, racked) in enumerate(zones):
        labels = {"zone": zone, "kubernetes.io/hostname": f"n{at}"}
        results.append({"metadata": {"labels": labels | ({"rack": zone} if racked else {})}})
    return results


def built(nodes: list[Thing], some_pods: list[Thing]) -> Constraints | None:
    frame = pl.DataFrame({
        "node": [f"n{at}" for at in range(len(nodes))],
        "labels": [json.dumps(one["metadata"]["labels"]) for one in nodes],
    })  # fmt: skip
    return constraints_of(
        frame,
        None,
        containers(some_pods),
        None,
        request=np.zeros((len(some_pods), 2), dtype=np.int64),
        capacity=np.ones((len(nodes), 2), dtype=np.int64),
    )


def containers(some_pods: list[Thing]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "container": f"c{at}",
                "namespace": one["metadata"]["namespace"],
                "labels": json.dumps(one["metadata"]["labels"]),
                "rules": rules.among(one),
                "host_ports": rules.host_ports(one["spec"]),
                "selector": rules.selector(one["spec"]),
            }
            for at, one in enumerate(some_pods)
        ],
        schema_overrides=dict.fromkeys(("rules", "host_ports", "selector"), pl.String),
    )


@settings(max_examples=100)
@given(zones, pods, moves)
def test_a_node_is_open_where_kubernetes_would_leave_it_open(
    zones: list[tuple[str, bool]], drawn: list[tuple[str, Thing, Thing]],
    moves: list[tuple[int, int]],
) -> None:  # fmt: skip
    # a rule by what no node states is left out, so one of them has a rack
    nodes, some_pods = nodes_of([("a", True), *zones]), [pod(*one) for one in drawn]
    made = built(nodes, some_pods)
    keeper = None if made is None else made.keeper(len(nodes))
    where: dict[int, int] = {}
    for index, target in [(0, 99), *moves]:
        if index < len(some_pods) and target < len(nodes) and keeper is not None:
            if index in where:
                keeper.remove(index, where.pop(index))
            else:
                keeper.add(index, target)
                where[index] = target
        running = [(some_pods[i], nodes[at]) for i, at in where.items()]
        for request in sorted(set(range(len(some_pods))) - set(where)):
            wanted = some_pods[request]["spec"].get("nodeSelector", {})
            expected = [
                open_to(some_pods[request], node, nodes, running)
                and all(node["metadata"]["labels"].get(k) == v for k, v in wanted.items())
                for node in nodes
            ]
            result = None if keeper is None else keeper.open(request)
            assert expected == ([True] * len(nodes) if result is None else result.tolist())


WEB = {"matchLabels": {"app": "web"}}
ZONE = {"topologyKey": "zone", "labelSelector": WEB}


def load_of(some_pods: list[Thing], zones: str, room: int = 9) -> Any:
    nodes = nodes_of([(zone, True) for zone in zones])
    rows: list[Row] = [(100 + at, 9000, 1, 1) for at in range(len(some_pods))]
    load = workload([(room, room)] * len(nodes), rows)
    return changed(load, rules={"constraints": built(nodes, some_pods)})


def placed(load: Any, policy: str = "first_fit") -> list[int]:
    results: list[list[int]] = []
    placers: tuple[MakePlacer, ...] = (PlainPlacer, rows_placer, fast_placer)
    for placer in placers:
        rng = np.random.default_rng(1)
        outcome = Engine(load, parse_policy(policy), rng, placer=placer).run()
        results.append(outcome.node.tolist())
    assert results[0] == results[1] == results[2]
    return results[0]


def required(kind: str, *some_terms: Thing) -> Thing:
    return {"affinity": {kind: {REQUIRED: list(some_terms)}}}


def test_each_zone_gets_its_share_and_who_waits_for_balance_gets_in() -> None:
    even: Thing = {"topologySpreadConstraints": [
        {**ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}  # fmt: skip
    web = {"app": "web"}
    load = load_of([pod("a", web, even)] * 6, "aab")
    assert np.bincount([int(node == 2) for node in placed(load)]).tolist() == [3, 3]
    # the second in zone a waits until one that only runs in b has come
    by_name: Thing = {**even, "nodeSelector": {"zone": "a"}}
    by_name["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore"
    late = pod("a", web, {"nodeSelector": {"zone": "b"}})
    assert placed(load_of([pod("a", web, by_name)] * 2, "ab")) == [0, -1]
    assert placed(load_of([*[pod("a", web, by_name)] * 3, late], "ab")) == [0, 0, -1, 1]


def test_a_rule_by_what_no_node_states_is_counted() -> None:
    made = containers([pod("a", {}, required("podAffinity", {**ZONE, "topologyKey": "row"}))] * 2)
    assert not_held(pl.DataFrame({"node": ["n"]}), made) == {
        "containers_not_held_podAffinity_by_row": 2
    }
