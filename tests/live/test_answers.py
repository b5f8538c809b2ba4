"""The server's answers are those of ``tracekit score`` on the same state, byte for byte."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from fleet import Fleet, args, node, pod
from tests_support import few_or_many

from tracekit.base.errors import TracekitError
from tracekit.live import state as live_state
from tracekit.live.extender import Extender, check_served
from tracekit.live.feeds import apply
from tracekit.live.names import Names
from tracekit.live.serve import Server
from tracekit.live.state import State
from tracekit.live.use import Use
from tracekit.live.web import Request
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import all_policies
from tracekit.replay.cases.scoring import score_file

_NOW_S = 1_795_852_800 + 40_000


def _server(policy: str, fleet: Fleet, steps: int = 40) -> Server:
    made = parse_policy(policy)
    state = State(Use(samples=made.metric_samples() + 1))
    for event, value in fleet.start():
        apply(state, event, value)
    for step in range(steps):
        use = {name: tuple(fleet.rng.random(2).tolist()) for name in fleet.nodes if name != "n1"}
        state.use.add((_NOW_S - 30 * (steps - step)) * 1000, use)
    return Server(extender=Extender(state=state, policy=made, clock=lambda: _NOW_S))


def _post(server: Server, document: Any, path: str = "/v1/prioritize") -> Any:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    answer = server.handle(Request(method="POST", target=path, body=body))
    answer.then()
    return answer


def _get(server: Server, target: str) -> Any:
    answer = server.handle(Request(method="GET", target=target, body=b""))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def _served() -> list[str]:
    results = []
    for name in all_policies():
        try:
            check_served(parse_policy(name))
        except TracekitError:
            continue
        results.append(name)
    return results


def _unlike(policy: str, folder: Path, requests: int, seed: int) -> list[str]:
    """The recorded requests that ``score`` answers otherwise: what differs."""
    fleet = Fleet(seed)
    server = _server(policy, fleet)
    cases, answers = [], []
    for _ in range(requests):
        for _ in range(3):
            apply(server.extender.state, *fleet.event())
        waiting = fleet.waiting()
        names = fleet.rng.permutation(sorted(fleet.nodes))[: 2 + len(fleet.nodes) // 2].tolist()
        answer = _post(server, args(waiting, names))
        assert answer.status == 200, answer.body
        case = _get(server, f"/case?pod=shop/{waiting['metadata']['name']}")
        cases.append({**case, "expected": {"priorities": json.loads(answer.body)}})
        answers.append(answer.body)
    file = folder / "cases.json"
    file.write_text(json.dumps({"cases": cases}))
    scored = [
        (one, json.dumps(one.answer.values["priorities"], separators=(",", ":")).encode())
        for one in score_file(file)
    ]
    return [
        str(one.differences)
        for (one, again), answer in zip(scored, answers, strict=True)
        if one.differences or again != answer
    ]


@pytest.mark.parametrize("policy", _served())
def test_every_policy_answers_as_score_does(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_state, "_FIRST_ROWS", 4)  # that they are lengthened often
    assert _unlike(policy, tmp_path, 12, seed=len(policy)) == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["default_scheduler", "target_load_packing[window_samples=5]"])
def test_hundreds_of_recorded_requests_each(policy: str, tmp_path: Path) -> None:
    for seed in range(few_or_many(1, 10)):
        assert _unlike(policy, tmp_path, 500, seed) == []


#: What TestCompatibility of k8s.io/kube-scheduler extender/v1 encodes (types_test.go).
_NODE = (
    '{"metadata":{"name":"nodename"},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":'
    '{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"",'
    '"osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"",'
    '"operatingSystem":"","architecture":""}}}'
)
_POD = '{"metadata":{"name":"podname"},"spec":{"containers":null},"status":{}}'
_ARGS = f'{{"Pod":{_POD},"Nodes":{{"metadata":{{}},"items":[{_NODE}]}},"NodeNames":["node1"]}}'
_OTHERS = {
    "preempt": f'{{"Pod":{_POD},"NodeNameToVictims":{{"foo":{{"Pods":[{_POD}],"NumPDBViolations":'
    '1}},"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}',
    "preempted": '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],'
    '"NumPDBViolations":1}}}',
    "bind": '{"PodName":"mypodname","PodNamespace":"mypodnamespace","PodUID":"mypoduid",'
    '"Node":"mynode"}',
    "bound": '{"Error":"myerror"}',
}


@pytest.mark.parametrize("text", [_ARGS, _ARGS.lower()])
def test_upstream_arguments_are_read_in_any_case_and_answered_in_capitals(text: str) -> None:
    server = _server("least_allocated", Fleet(0))
    server.filters = "whole"
    answer = _post(server, text.encode())
    assert answer.body == b'[{"Host":"node1","Score":0}]'  # a HostPriority, as upstream's
    document = json.loads(_post(server, text.encode(), "/v1/filter").body)
    assert list(document) == [
        *("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error")
    ]
    assert "nodename" in server.extender.state.nodes


@pytest.mark.parametrize("verb", _OTHERS)
def test_what_is_not_served_is_refused(verb: str) -> None:
    server = _server("least_allocated", Fleet(0))
    server.filters = "whole"
    assert _post(server, _OTHERS[verb].encode(), f"/v1/{verb}").status == 404


def test_whole_nodes_and_names_get_one_answer() -> None:
    fleet = Fleet(3)
    server, waiting = _server("most_allocated", fleet), fleet.waiting()
    by_name = _post(server, args(waiting, sorted(fleet.nodes)))
    whole = _post(server, args(waiting, None, [fleet.nodes[one] for one in sorted(fleet.nodes)]))
    assert by_name.body == whole.body
    verb = _post(server, args(waiting, sorted(fleet.nodes)), "/v1/most_allocated")
    assert verb.body == by_name.body
    lower = {key.lower(): value for key, value in args(waiting, sorted(fleet.nodes)).items()}
    assert _post(server, lower).body == by_name.body
    assert json.loads(_post(server, args(waiting, [])).body) == []


def test_names_are_found_as_in_a_dict_and_answered_in_their_order() -> None:
    rng = np.random.default_rng(0)
    names = list({"x" * int(one) + str(one % 997) for one in rng.integers(0, 300, 4000)})
    names += [f"ip-{at}.é, [{at % 7}]" for at in range(3000)]
    table, listed = Names(names[::2]), rng.permutation(np.array(names, dtype=object)).tolist()
    index = {name: at for at, name in enumerate(names[::2])}
    tenths = rng.integers(0, 11, len(listed))
    for text in (msgspec.json.encode(listed), json.dumps(listed, ensure_ascii=False).encode()):
        result = table.find(text)
        assert result.positions.tolist() == [index.get(name, -1) for name in listed]
        assert [result.name(at) for at in range(len(listed))] == listed
        assert json.loads(result.answer(tenths)) == [
            {"Host": name, "Score": score}
            for name, score in zip(listed, tenths.tolist(), strict=True)
        ]


def test_an_explanation_has_every_node_with_its_parts() -> None:
    fleet = Fleet(4)
    server, waiting = _server("default_scheduler", fleet), fleet.waiting()
    answer = json.loads(_post(server, args(waiting, ["n2", "n0", "strange"])).body)
    result = _get(server, f"/explain?pod=shop/{waiting['metadata']['name']}")
    scores = {one["node"]: one["score"] for one in result["nodes"]}
    assert scores == {one["Host"]: one["Score"] for one in answer}
    parts = {one["node"]: one["parts"] for one in result["nodes"]}
    assert set(parts["n0"]) == {"least_allocated", "balanced_allocation"}
    assert parts["strange"] == dict.fromkeys(parts["n0"])
    assert server.extender.unknown == 1


def test_a_filter_names_what_is_lacking() -> None:
    server = _server("least_allocated", Fleet(5))
    waiting = pod("large", cpu="9")
    assert _post(server, args(waiting, ["n0"]), "/v1/filter").status == 404
    server.filters = "names"
    document = json.loads(_post(server, args(waiting, ["n0", "n2", "x"]), "/v1/filter").body)
    assert (document["NodeNames"], set(document["FailedNodes"])) == (["n2"], {"n0", "x"})
    whole = json.loads(_post(server, args(waiting, None, [node("n0")]), "/v1/filter").body)
    assert whole["Error"]
    server.filters = "whole"
    whole = json.loads(
        _post(server, args(waiting, None, [node("n0"), node("big", "64")]), "/v1/filter").body
    )
    assert [one["metadata"]["name"] for one in whole["Nodes"]["items"]] == ["big"]
    assert whole["NodeNames"] is None


def test_measurements_that_are_too_old_count_as_none() -> None:
    fleet = Fleet(6)
    server, waiting = _server("target_load_packing", fleet), fleet.waiting()
    names = ["n0", "n2"]
    now = json.loads(_post(server, args(waiting, names)).body)
    server.extender.clock = lambda: _NOW_S + 3600
    server.needs_use = True
    later = json.loads(_post(server, args(waiting, names)).body)
    assert any(one["Score"] for one in now)
    assert not any(one["Score"] for one in later)
    assert server.handle(Request(method="GET", target="/readyz", body=b"")).status == 503


def test_what_coarsening_loses_is_counted() -> None:
    server = _server("least_allocated", Fleet(7, nodes=2))
    state = server.extender.state
    for name in tuple(state.nodes):
        state.drop_node(name)
    for name, cpu in (("a", "10"), ("b", "20")):
        apply(state, "ADDED", node(name, cpu))
    _post(server, args(pod("p"), ["a", "b"]))
    assert server.extender.coarse == 1
    hundred = next(reversed(server.extender.decided.values())).hundred
    assert server.extender.lost == pytest.approx(float(np.ptp(hundred)) / 2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"Pod":1}',
        b'{"Pod":{}}',
        b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":[1]}',
        b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":{"a":1}}',
        b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":[["n0"],"n1"]}',
        b'{"Pod":{"metadata":{"name":"p"}},"NodeNames":["n\\u0030"]}',
        b'{"Pod":{"metadata":{"name":"p"},"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}}}',
        b'{"Pod":{"metadata":{"name":"p"},"spec":{"containers":[{"resources":{"requests":{"cpu":"-1"}}}]}}}',
        b'{"Pod":{"metadata":{"name":"p"},"spec":[1]}}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"Pod":{"metadata":{"name":"p"}},"Nodes":{"items":[{"metadata":{}}]}}',
    ],
)
def test_a_malformed_body_is_refused_with_one_line(body: bytes) -> None:
    answer = _post(_server("least_allocated", Fleet(0)), body)
    assert answer.status == 400
    assert answer.body.count(b"\n") == 1
