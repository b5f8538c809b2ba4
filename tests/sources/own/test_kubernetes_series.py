"""What Prometheus recorded, in every form it hands it out: amounts, nodes, lives of pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from docs_support import DOCS
from kubernetes_support import answer, listed, node, pod, series, written
from reading_support import Reading, file_of, opened, read, recognised
from tests_support import shared_data

from tracekit.errors import TracekitError
from tracekit.sources import Opened
from tracekit.sources.own import _prometheus_sums
from tracekit.sources.own._prometheus_metrics import QUERIES, STATES, USES

NAME = "kubernetes"
START = 1_767_225_600
MS = 1000
CPU = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
Sample = tuple[float, float | str]
Made = tuple[str, dict[str, str], Sequence[Sample]]


def _times(*values: float | str, step: int = 30) -> list[Sample]:
    return [(START + at * step, value) for at, value in enumerate(values)]


def _as_range(some: Sequence[Made]) -> str:
    return json.dumps(answer(*(series(name, values, **labels) for name, labels, values in some)))


def _as_promtool(some: Sequence[Made]) -> str:
    return json.dumps([series(name, values, **labels) for name, labels, values in some], indent=1)


def _labelled(labels: Mapping[str, str], separator: str) -> str:
    return separator.join(f"{key}={json.dumps(value)}" for key, value in labels.items())


def _as_dump(some: Sequence[Made]) -> str:
    return "".join(
        f"{{{_labelled({'__name__': name, **labels}, ', ')}}} {value} {round(time * MS)}\n"
        for name, labels, values in some
        for time, value in values
    )


def _as_openmetrics(some: Sequence[Made]) -> str:
    lines = [
        f"{name}{{{_labelled(labels, ',')}}} {value} {time}\n"
        for name, labels, values in some
        for time, value in values
    ]
    return f"# TYPE {some[0][0]} gauge\n{''.join(lines)}# EOF\n"


def _as_export(some: Sequence[Made]) -> str:
    return "".join(
        json.dumps(
            {
                "metric": {"__name__": name, **labels},
                "values": [value for _, value in values],
                "timestamps": [round(time * MS) for time, _ in values],
            }
        )
        + "\n"
        for name, labels, values in some
    )


FORMS: list[tuple[str, str, Callable[[Sequence[Made]], str]]] = [
    ("range", "answer.json", _as_range),
    ("range", "promtool.json", _as_promtool),
    ("text", "dump.txt", _as_dump),
    ("text", "series.om", _as_openmetrics),
    ("export", "export.jsonl", _as_export),
]
SCRAPED = FORMS[2:]


def _pod(name: str = "web-1", container: str | None = "main", **more: str) -> dict[str, str]:
    inner = {} if container is None else {"container": container}
    return {"namespace": "default", "pod": name, **inner, **more}


def _amounts(found: Reading, table: str = "container") -> list[tuple[object, ...]]:
    columns = ("time_ms", table, "resource", "amount", "unit")
    return found.rows(f"{table}_amount", *columns)


CLUSTER: list[Made] = [
    (MEMORY, _pod(), _times(100, 200)),
    (MEMORY, _pod(container="side"), _times(10, 20)),
    (MEMORY, _pod(container="POD"), _times(1, 1)),
    (MEMORY, _pod(container=None), _times(111, 221)),
    (MEMORY, {"id": "/system.slice"}, _times(5, 5)),
    ("kube_node_status_allocatable", {"node": "n1", "resource": "cpu"}, _times(8, 16)),
    ("kube_node_labels", {"node": "n1", "label_topology_kubernetes_io_zone": "z"}, _times(1, 1)),
    ("kube_node_spec_unschedulable", {"node": "n1"}, _times(0, 1)),
    (
        "kube_pod_info",
        _pod(
            container=None, uid="u", node="n1", created_by_kind="ReplicaSet", created_by_name="rs"
        ),
        _times(1, 1),
    ),
    (
        "kube_replicaset_owner",
        {
            "namespace": "default",
            "replicaset": "rs",
            "owner_kind": "Deployment",
            "owner_name": "web",
        },
        _times(1, 1),
    ),
    ("kube_pod_created", _pod(container=None, uid="u"), _times(START - 60, START - 60)),
    (
        "kube_pod_container_resource_requests",
        _pod(uid="u", resource="cpu"),
        _times(0.5, 0.5),
    ),
    (
        "kube_pod_container_resource_requests",
        _pod(container="side", uid="u", resource="cpu"),
        _times(0.25, 0.25),
    ),
    ("kube_pod_container_resource_limits", _pod(uid="u", resource="cpu"), _times(1, 1)),
    (
        "kube_pod_init_container_resource_requests",
        _pod(container="init", uid="u", resource="cpu"),
        _times(2, 2),
    ),
    ("kube_pod_overhead_cpu_cores", _pod(container=None, uid="u"), _times(0.125, 0.125)),
]


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_every_form_says_the_same(
    tmp_path: Path, word: str, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    path = written(tmp_path / name, form(CLUSTER))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    assert found.broken == []
    assert _amounts(found) == [
        (START * MS, "default/web-1", "memory", 110.0, "bytes"),
        ((START + 30) * MS, "default/web-1", "memory", 220.0, "bytes"),
    ]
    assert found.rows("node", "node", "time_ms", "state", "zone") == [
        ("n1", START * MS, "closed", "z")
    ]
    assert found.rows("node_resource", "time_ms", "resource", "amount", "unit") == [
        (START * MS, "cpu", 8.0, "cores"),
        ((START + 30) * MS, "cpu", 16.0, "cores"),
    ]
    columns = ("container", "service", "node", "time_ms", "departure_ms", "daemon")
    assert found.rows("container", *columns) == [
        ("default/web-1", "default/web", "n1", (START - 60) * MS, None, 0)
    ]
    assert found.rows("container_resource", "resource", "request", "limit", "unit") == [
        ("cpu", 2.125, None, "cores")
    ]


RATES: list[tuple[str, list[Sample], list[tuple[int, float]]]] = [
    ("it grows", _times(0, 30, 90), [(30, 1.0), (60, 2.0)]),
    ("it was reset", _times(300, 15, 30), [(30, 0.5), (60, 0.5)]),
    (
        "it was silent",
        [(START, 0), (START + 30, 30), (START + 600, 60), (START + 630, 90)],
        [(30, 1.0), (630, 1.0)],
    ),
    ("one sample", _times(7), []),
]


@pytest.mark.parametrize(("word", "name", "form"), SCRAPED, ids=[case[1] for case in SCRAPED])
@pytest.mark.parametrize(("_", "samples", "rates"), RATES, ids=[case[0] for case in RATES])
def test_counters_become_rates(
    tmp_path: Path,
    word: str,
    name: str,
    form: Callable[[Sequence[Made]], str],
    _: str,
    samples: list[Sample],
    rates: list[tuple[int, float]],
) -> None:
    path = written(tmp_path / name, form([(CPU, _pod(), samples)]))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    amounts = _amounts(found) if "container_amount" in found.tables else []
    assert amounts == [
        ((START + after) * MS, "default/web-1", "cpu", rate, "cores") for after, rate in rates
    ]


def test_containers_that_are_scraped_at_other_times_add_up_on_a_grid(tmp_path: Path) -> None:
    made: list[Made] = [
        (MEMORY, _pod(), [(START + 30 * at + 1, 100 + at) for at in range(3)]),
        (MEMORY, _pod(container="side"), [(START + 30 * at + 12.25, 10) for at in range(3)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump(made)))
    assert [(row[0], row[3]) for row in _amounts(found)] == [
        ((START + 30) * MS, 110.0),
        ((START + 60) * MS, 111.0),
        ((START + 90) * MS, 112.0),
    ]


def test_each_series_holds_until_its_next_sample_or_its_end(tmp_path: Path) -> None:
    """Scrapes that are not in lockstep, as cAdvisor's own times are not: 110 all the time."""
    made: list[Made] = [
        (MEMORY, _pod(), [(START + 10 * at, 100) for at in range(13)]),
        (MEMORY, _pod(container="side"), [(START + 35 * at, 10) for at in range(3)]),
        (MEMORY, _pod(container="gone"), [(START, 5), (START + 10, 5), (START + 20, "NaN")]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump(made)))
    assert [(int(str(row[0])) // MS - START, row[3]) for row in _amounts(found)] == [
        (0, 115.0),
        (10, 115.0),
        *((10 * at, 110.0) for at in range(2, 13)),
    ]


def test_what_is_scraped_at_other_intervals_has_a_grid_of_its_own(tmp_path: Path) -> None:
    at = {"instance": "10.0.0.1:9100"}
    made: list[Made] = [
        ("node_uname_info", {**at, "nodename": "n1"}, _times(1, 1)),
        ("node_memory_MemTotal_bytes", at, [(START + 15 * n, 100) for n in range(9)]),
        ("node_memory_MemAvailable_bytes", at, [(START + 15 * n, 40) for n in range(9)]),
        (MEMORY, _pod(), [(START + 60 * n + 3, 100) for n in range(3)]),
        (MEMORY, _pod(container="side"), [(START + 60 * n + 47, 10) for n in range(3)]),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump(made)))
    assert [row[3] for row in _amounts(found)] == [110.0] * 3
    assert [row[3] for row in _amounts(found, "node")] == [60.0] * 9


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_what_is_no_number_is_told_and_the_rest_is_kept(
    tmp_path: Path, word: str, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    made: list[Made] = [(MEMORY, _pod(), _times(1, "NaN", 3, "+Inf"))]
    path = written(tmp_path / name, form(made))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    assert [row[3] for row in _amounts(found)] == [1.0, 3.0]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == [
        "is NaN",
        "is '+Inf'",
    ]
    assert found.broken[0].text.startswith(MEMORY)


LINES = [
    ("this is no sample", "is no sample: expected {labels} value time"),
    ('{__name__="x", pod=web} 1 1', "has labels that cannot be read"),
    (f'{{__name__="{MEMORY}", pod="a", container="b"}} x 1', "is 'x', expected a finite number"),
    (f'{{__name__="{MEMORY}", pod="a", container="b"}} 5', "has no time"),
]


@pytest.mark.parametrize(("line", "reason"), LINES)
def test_a_broken_line_of_a_dump_is_told_with_its_number(
    tmp_path: Path, line: str, reason: str
) -> None:
    good = _as_dump([(MEMORY, _pod(), _times(1, 2))]).splitlines()
    path = written(tmp_path / "dump.txt", "\n".join([good[0], line, good[1], ""]))
    found = read(NAME, path)
    assert found.reasons == [(2, None, reason)]
    assert [row[3] for row in _amounts(found)] == [1.0, 2.0]


CUT = [
    ("answer.json", '{"status":"success","data":{"resultType":"matrix","result":['),
    ("bare.json", "["),
]


@pytest.mark.parametrize(("name", "begin"), CUT)
def test_an_answer_that_is_cut_off_is_refused(tmp_path: Path, name: str, begin: str) -> None:
    one = json.dumps(series(MEMORY, _times(1), **_pod()))
    path = written(tmp_path / name, f"{begin}{one},{one[: len(one) // 2]}")
    with pytest.raises(TracekitError, match="object 2 is cut off: the file ends before the value"):
        read(NAME, path)


def test_a_dump_that_is_cut_off_loses_its_last_line_only(tmp_path: Path) -> None:
    """Its time may have lost some digits and be a number all the same."""
    text = _as_dump([(MEMORY, _pod(), _times(1, 2))])
    for left in (-30, -5, -1):
        found = read(NAME, written(tmp_path / "dump.txt", text[:left]))
        assert [row[3] for row in _amounts(found)] == [1.0]
        assert found.reasons == [(2, None, "is cut off: the file ends before the line does")]


def test_a_result_without_names_is_what_its_file_or_its_query_is_called(tmp_path: Path) -> None:
    one = series(None, _times(0.5), namespace="default", pod="web-1")
    named = read(NAME, written(tmp_path / "container_cpu_in_use-0.json", answer(one)))
    asked = read(NAME, written(tmp_path / "x.json", answer(one, name="container_cpu_in_use")))
    assert _amounts(named) == _amounts(asked)
    assert [row[2:4] for row in _amounts(named)] == [("cpu", 0.5)]
    lost = read(NAME, written(tmp_path / "y.json", answer(one)))
    assert lost.tables == {}
    assert lost.reasons[0][2].startswith("is a series without __name__; name the file after")


def test_an_answer_that_is_an_error_is_one(tmp_path: Path) -> None:
    document = {"status": "error", "errorType": "bad_data", "error": "no such query"}
    path = written(tmp_path / "answer.json", document)
    with pytest.raises(TracekitError, match="Prometheus answered with an error: no such query"):
        read(NAME, path)


def test_a_file_of_other_metrics_is_refused_by_their_names(tmp_path: Path) -> None:
    path = written(tmp_path / "dump.txt", _as_dump([("up", {"job": "x"}, _times(1))]))
    with pytest.raises(TracekitError, match=r"holds no metric that says .* it holds up"):
        read(NAME, path)


def test_a_node_uses_what_it_is_not_idle_with_and_memory_that_is_not_available(
    tmp_path: Path,
) -> None:
    at = {"instance": "10.0.0.1:9100"}
    made: list[Made] = [
        ("node_cpu_seconds_total", {**at, "cpu": "0", "mode": "user"}, _times(0, 15)),
        ("node_cpu_seconds_total", {**at, "cpu": "1", "mode": "system"}, _times(0, 3)),
        ("node_cpu_seconds_total", {**at, "cpu": "1", "mode": "idle"}, _times(0, 27)),
        ("node_memory_MemTotal_bytes", at, [*_times(100, 100), (START + 400, 100)]),
        ("node_memory_MemAvailable_bytes", at, _times(40, 30)),
        ("node_uname_info", {**at, "nodename": "n1"}, _times(1, 1)),
    ]
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump(made)))
    assert sorted(row[1:4] for row in _amounts(found, "node")) == [
        ("n1", "cpu", pytest.approx(0.6)),
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    [(_, _, reason)] = found.reasons
    assert reason.startswith("has 1 times with one of two metrics")


def _answer(name: str, some: Sequence[tuple[dict[str, str], list[Sample]]]) -> str:
    """An answer to a query with rate(), which has no name of a metric."""
    made: list[Made] = [(name, labels, values) for labels, values in some]
    document = json.loads(_as_range(made))
    for one in document["data"]["result"]:
        del one["metric"]["__name__"]
    return json.dumps(document)


RATE = "container_cpu_usage_seconds_total"
#: What rate() gives of a pod: its container, its sandbox, and the cgroup around both.
KEPT_APART: dict[str, tuple[dict[str, str], ...]] = {
    "all labels": (
        {"container": "main", "id": "/kubepods/pod1/a"},
        {"container": "POD", "id": "/kubepods/pod1/b"},
        {"id": "/kubepods/pod1"},
    ),
    "summed by container": ({"container": "main"}, {"container": "POD"}, {}),
    "the cgroup first": ({}, {"container": "POD"}, {"container": "main"}),
    "an empty container": ({"container": "main"}, {"container": ""}),
}


@pytest.mark.parametrize("labels", KEPT_APART.values(), ids=KEPT_APART)
def test_an_answer_counts_what_is_around_a_container_not_again(
    tmp_path: Path, labels: Sequence[dict[str, str]]
) -> None:
    cores = {"main": 0.5, "POD": 0.0001}
    some = [
        (
            {"namespace": "default", "pod": pod, **more},
            _times(*([cores.get(more.get("container", ""), 0.5001)] * 3)),
        )
        for pod in ("web-1", "web-2")
        for more in labels
    ]
    found = read(NAME, written(tmp_path / f"{RATE}.json", _answer(RATE, some)))
    assert [(row[1], row[3]) for row in _amounts(found)] == [
        (f"default/web-{pod}", 0.5) for pod in (1, 2) for _ in range(3)
    ]


POD_CGROUPS = ["/kubepods/burstable/pod1a-2b", "/kubepods.slice/kubepods-pod1a_2b.slice"]


@pytest.mark.parametrize("cgroup", POD_CGROUPS)
def test_of_a_pod_whose_containers_are_not_seen_the_cgroup_around_them_counts(
    tmp_path: Path, cgroup: str
) -> None:
    """Some runtimes tell of no container; of web-2 the containers are seen, and count once."""
    whole, space = {"id": cgroup}, {"namespace": "default"}
    made: list[Made] = [
        (MEMORY, {**space, "pod": "web-1", **whole}, _times(700, 710)),
        (MEMORY, {**space, "pod": "web-2", **whole}, _times(950, 950)),
        (MEMORY, {**space, "pod": "web-2", "container": "main", "id": "/a/b"}, _times(900, 900)),
        (MEMORY, {**space, "pod": "web-2", "container": "POD", "id": "/a/c"}, _times(1, 1)),
        (MEMORY, {"id": "/kubepods/burstable"}, _times(5000, 5000)),
    ]
    for form, name in ((_as_dump, "dump.txt"), (_as_export, "export.jsonl")):
        found = read(NAME, written(tmp_path / name, form(made)))
        assert sorted((row[1], row[3]) for row in _amounts(found)) == [
            ("default/web-1", 700.0), ("default/web-1", 710.0),
            ("default/web-2", 900.0), ("default/web-2", 900.0),
        ]  # fmt: skip


def test_labels_from_before_kubernetes_1_16_are_those_of_now(tmp_path: Path) -> None:
    old = {"namespace": "default", "pod_name": "web-1", "container_name": "main"}
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump([(MEMORY, old, _times(7, 8))])))
    assert [(row[1], row[3]) for row in _amounts(found)] == [
        ("default/web-1", 7.0), ("default/web-1", 8.0),
    ]  # fmt: skip


def test_an_answer_that_was_summed_up_by_pod_counts(tmp_path: Path) -> None:
    some = [({"namespace": "default", "pod": "web-1"}, _times(0.5, 0.25))]
    found = read(NAME, written(tmp_path / f"{RATE}.json", _answer(RATE, some)))
    assert [row[3] for row in _amounts(found)] == [0.5, 0.25]


@pytest.mark.parametrize("by", ["kubectl", "Prometheus"])
def test_the_network_of_a_host_is_not_its_pods(tmp_path: Path, by: str) -> None:
    """A pod on the network of its host is seen with all that passes there."""
    metric, labels = "container_network_receive_bytes_total", {"interface": "eth0"}
    made: list[Made] = [
        (metric, _pod(name, None, **labels), _times(0, 3000, 6000)) for name in ("proxy", "web-1")
    ]
    info = (
        "kube_pod_info",
        _pod("proxy", None, uid="u", node="n1", host_network="true"),
        _times(1),
    )
    seen = [info] if by == "Prometheus" else []
    path = written(tmp_path / "dump.txt", _as_dump([*made, *seen]))
    pods = [pod("proxy", hostNetwork=by == "kubectl"), pod("web-1")]
    printed = written(tmp_path / "pods.json", listed(node("n1"), *pods))
    found = read(NAME, path, _beside(printed, path))
    assert {row[1] for row in _amounts(found)} == {"default/web-1"}


def test_the_text_format_counts_in_milliseconds(tmp_path: Path) -> None:
    """As ``curl .../federate`` prints it: neither a dump nor OpenMetrics."""
    labels = 'container="main",namespace="default",pod="web-1"'
    lines = [f"{MEMORY}{{{labels}}} {100 + at} {(START + 30 * at) * MS}" for at in range(3)]
    text = "\n".join([f"# TYPE {MEMORY} gauge", *lines, ""])
    found = read(NAME, written(tmp_path / "federate.txt", text))
    assert [(row[0], row[3]) for row in _amounts(found)] == [
        ((START + 30 * at) * MS, 100.0 + at) for at in range(3)
    ]


def test_labels_that_prometheus_renamed_are_those_of_the_pod(tmp_path: Path) -> None:
    """Without honor_labels ``pod`` is that of kube-state-metrics itself."""
    own = {"namespace": "monitoring", "pod": "ksm-0", "container": "ksm", "node": "n9"}
    made: list[Made] = []
    for name in ("web-1", "web-2"):
        about = {"exported_namespace": "shop", "exported_pod": name, "uid": name}
        on = {**own, **about, "exported_node": "n1"}
        size = {"exported_container": "main", "resource": "cpu", "unit": "core"}
        made += [
            ("kube_pod_info", on, _times(1, 1)),
            ("kube_pod_container_resource_requests", {**on, **size}, _times(0.5, 0.5)),
        ]
    size = {"resource": "cpu", "unit": "core", "exported_node": "n1"}
    made.append(("kube_node_status_allocatable", {**own, **size}, _times(8, 8)))
    found = read(NAME, written(tmp_path / "dump.txt", _as_dump(made)))
    assert sorted(found.rows("container", "container", "node")) == [
        ("shop/web-1", "n1"),
        ("shop/web-2", "n1"),
    ]
    assert found.rows("node", "node") == [("n1",)]


def _printed_node(name: str, address: str) -> dict[str, Any]:
    printed = node(name)
    printed["status"]["addresses"] = [{"type": "InternalIP", "address": address}]
    return printed


#: Names of two nodes with their addresses; labels of an exporter; which node that is.
CALLED = [
    (("a.corp", "b.corp"), {"nodename": "a"}, "a.corp"),
    (("a", "b"), {"nodename": "a.corp"}, "a"),
    (("a.corp", "b.corp"), {"node": "b.corp"}, "b.corp"),
    (("a.corp", "b.corp"), {"instance": "10.0.0.2:9100"}, "b.corp"),
    (("a.one", "a.two"), {"nodename": "a"}, None),
    (("a.one", "a.two"), {"nodename": "a.three"}, None),
    (("a.corp", "b.corp"), {"nodename": "c"}, None),
    (("a.corp", "b.corp"), {"instance": "10.0.0.9:9100"}, None),
]


@pytest.mark.parametrize(("names", "labels", "wanted"), CALLED)
def test_a_node_is_met_by_its_host_or_address_or_told(
    tmp_path: Path, names: tuple[str, str], labels: dict[str, str], wanted: str | None
) -> None:
    nodes = [_printed_node(name, f"10.0.0.{at}") for at, name in enumerate(names, 1)]
    printed = written(tmp_path / "nodes.json", listed(*nodes))
    made = _answer("node_cpu_in_use", [(labels, _times(2.0, 3.0))])
    path = written(tmp_path / "node_cpu_in_use.json", made)
    found = read(NAME, path, _beside(printed, path))
    if wanted is None:
        [(_, column, reason)] = found.reasons
        assert column == "node"
        assert "which no file describes" in reason
        assert "node_amount" not in found.tables
    else:
        assert [(row[1], row[3]) for row in _amounts(found, "node")] == [
            (wanted, 2.0), (wanted, 3.0)
        ]  # fmt: skip


def test_two_lives_of_a_name_are_two_containers_and_its_use_belongs_to_the_one_at_the_time(
    tmp_path: Path,
) -> None:
    def info(uid: str, where: str, first: int, last: int) -> Made:
        times: list[Sample] = [(START + 30 * at, 1) for at in range(first, last)]
        return ("kube_pod_info", _pod("db-0", None, uid=uid, node=where), times)

    made: list[Made] = [
        info("one", "n1", 0, 3),
        info("two", "n2", 3, 9),
        (MEMORY, _pod("db-0"), _times(*range(1, 10))),
    ]
    found = read(NAME, written(tmp_path / "all.json", _as_range(made)))
    columns = ("container", "node", "time_ms", "departure_ms")
    assert found.rows("container", *columns) == [
        ("default/db-0", "n1", START * MS, (START + 60) * MS),
        ("default/db-0@two", "n2", (START + 90) * MS, None),
    ]
    counts = found.tables["container_amount"].group_by("container").len().sort("container")
    assert counts.rows() == [("default/db-0", 3), ("default/db-0@two", 6)]


def _phases(uid: str | None, phase: str, since: int, *, samples: int = 9) -> list[Made]:
    """All phases of a pod, as kube-state-metrics reports them: it is Running before."""
    labels = {} if uid is None else {"uid": uid}
    return [
        (
            "kube_pod_status_phase",
            _pod("web-1", None, phase=one, **labels),
            _times(*(float((phase if at >= since else "Running") == one) for at in range(samples))),
        )
        for one in ("Pending", "Running", "Succeeded", "Failed", "Unknown")
    ]


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
@pytest.mark.parametrize(
    ("phases", "completed_s", "left_s"),
    [
        (_phases("u", "Failed", 3), None, START + 90),
        (_phases("u", "Succeeded", 4), None, START + 120),
        (_phases("u", "Succeeded", 4), START + 95, START + 95),
        (_phases("u", "Failed", 0), None, START),
        (_phases(None, "Failed", 3), None, START + 90),
        (_phases("u", "Running", 0), None, None),
        (_phases("u", "Unknown", 2), None, None),
    ],
    ids=["evicted", "succeeded", "finished", "before", "without uid", "running", "lost"],
)
def test_a_pod_that_failed_or_succeeded_departs_however_long_it_is_reported(
    tmp_path: Path,
    word: str,
    name: str,
    form: Callable[[Sequence[Made]], str],
    phases: list[Made],
    completed_s: int | None,
    left_s: int | None,
) -> None:
    end = [completed_s] * 9 if completed_s else []
    made: list[Made] = [
        ("kube_pod_info", _pod("web-1", None, uid="u", node="n1"), _times(*[1] * 9)),
        *phases,
        *(
            [("kube_pod_completion_time", _pod("web-1", None, uid="u"), _times(*end))]
            if end
            else []
        ),
    ]
    found = read(NAME, written(tmp_path / name, form(made)))
    assert recognised(tmp_path / name) == [(NAME, word)]
    assert found.broken == []
    assert found.rows("container", "container", "departure_ms") == [
        ("default/web-1", None if left_s is None else left_s * MS)
    ]


def test_of_two_lives_the_one_that_was_there_failed(tmp_path: Path) -> None:
    """Its phase was recorded without the uid."""
    failed = [(START + 30 * at, float(at == 2)) for at in range(3)]
    made: list[Made] = [
        ("kube_pod_info", _pod("web-1", None, uid="one", node="n1"), _times(1, 1, 1, 1)),
        ("kube_pod_info", _pod("web-1", None, uid="two", node="n1"), _times(*[1] * 9)[5:]),
        ("kube_pod_status_phase", _pod("web-1", None, phase="Failed"), failed),
    ]
    found = read(NAME, written(tmp_path / "all.json", _as_range(made)))
    assert found.rows("container", "container", "departure_ms") == [
        ("default/web-1", (START + 60) * MS),
        ("default/web-1@two", None),
    ]


@pytest.mark.parametrize("named", [True, False], ids=["named", "by its file"])
def test_a_metric_that_is_not_needed_is_passed_over_beside_others(
    tmp_path: Path, named: bool
) -> None:
    info: Made = ("kube_pod_info", _pod("web-1", None, uid="u", node="n1"), _times(1))
    needed = written(tmp_path / "pods.json", _as_range([info]))
    name = "kube_pod_status_ready"
    one = series(name if named else None, _times(1), namespace="default", pod="web-1")
    other = written(tmp_path / f"{name}-20260101T000000Z.json", answer(one))
    found = read(NAME, other, _beside(needed, other))
    assert (found.tables, found.broken) == ({}, [])
    with pytest.raises(TracekitError, match=f"it holds {name}"):
        read(NAME, other)


def test_sizes_that_the_scheduler_states_hold(tmp_path: Path) -> None:
    whole: Made = (
        "kube_pod_resource_request",
        {"namespace": "default", "pod": "web-1", "resource": "cpu", "unit": "cores"},
        _times(3, 3),
    )
    found = read(NAME, written(tmp_path / "all.json", _as_range([*CLUSTER, whole])))
    assert found.rows("container_resource", "container", "request") == [("default/web-1", 3.0)]


def _beside(*paths: Path) -> dict[str, tuple[Opened, ...]]:
    kinds: dict[str, tuple[Opened, ...]] = {}
    for path in paths:
        [(_, word)] = recognised(path)
        kinds[word] = (*kinds.get(word, ()), opened(path))
    return kinds


def test_what_kubectl_printed_is_not_said_again_and_what_it_did_not_print_is_added(
    tmp_path: Path,
) -> None:
    printed = written(tmp_path / "cluster.json", listed(node("n1"), pod("web-1", nodeName="n1")))
    made: list[Made] = [
        ("kube_node_status_allocatable", {"node": "n1", "resource": "cpu"}, _times(8)),
        ("kube_node_status_allocatable", {"node": "n2", "resource": "cpu"}, _times(8)),
        ("kube_pod_info", _pod("web-1", None, uid="uid-web-1", node="n1"), _times(1)),
        ("kube_pod_info", _pod("gone-1", None, uid="g", node="n2"), _times(1)),
        ("kube_pod_info", _pod("lost-1", None, uid="l", node="n7"), _times(1)),
    ]
    recorded = written(tmp_path / "series.json", _as_range(made))
    found = read(NAME, recorded, _beside(printed, recorded))
    assert found.rows("node", "node") == [("n2",)]
    assert found.rows("container", "container") == [("default/gone-1",)]
    assert found.reasons == [(5, "node", "is 'n7', which no file describes")]


def test_a_size_in_one_file_belongs_to_the_pod_of_another(tmp_path: Path) -> None:
    """Each of the fetched files holds one metric; together they give what one file would."""
    paths = [
        written(tmp_path / f"{at:02}.json", _as_range([one])) for at, one in enumerate(CLUSTER)
    ]
    parts = [read(NAME, path, _beside(*paths)) for path in paths]
    sizes = [
        row
        for one in parts
        if "container_resource" in one.tables
        for row in one.rows("container_resource", "request", "limit")
    ]
    assert sizes == [(2.125, None)]


TOTAL, AVAILABLE = "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes"


@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_the_halves_of_a_difference_may_lie_in_two_files(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    """An answer to query_range holds one metric; the file of what is available has the rows."""
    at = {"instance": "n1:9100"}
    total = written(tmp_path / f"total-{name}", form([(TOTAL, at, _times(100, 100))]))
    available = written(tmp_path / f"left-{name}", form([(AVAILABLE, at, _times(40, 30))]))
    beside = _beside(total, available)
    found = read(NAME, available, beside)
    assert [row[1:4] for row in _amounts(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert found.reasons == []
    # no row is there twice
    other = read(NAME, total, beside)
    assert "node_amount" not in other.tables
    assert other.reasons == []


def test_a_half_that_no_file_has_is_told(tmp_path: Path) -> None:
    at = {"instance": "n1:9100"}
    more = {"instance": "n2:9100"}
    total = written(tmp_path / "total.txt", _as_dump([(TOTAL, at, _times(100, 100))]))
    left = [(AVAILABLE, at, _times(40, 30)), (AVAILABLE, more, _times(40, 30))]
    available = written(tmp_path / "left.txt", _as_dump(left))
    found = read(NAME, available, _beside(total, available))
    assert [row[1:4] for row in _amounts(found, "node")] == [
        ("n1", "memory", 60.0),
        ("n1", "memory", 70.0),
    ]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == [
        "has 2 times with one of two metrics"
    ]
    alone = read(NAME, total, _beside(total))
    assert [reason.split(",")[0] for _, _, reason in alone.reasons] == [
        "has 2 times with one of two metrics"
    ]


def test_many_samples_lie_on_disk_and_add_up_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    made: list[Made] = [
        (MEMORY, _pod(f"p{at % 9}", f"c{at}"), _times(*rng.integers(1, 1 << 40, 50).tolist()))
        for at in range(40)
    ]
    path = written(tmp_path / "dump.txt", _as_dump(made))
    held = read(NAME, path).tables["container_amount"]
    monkeypatch.setattr(_prometheus_sums, "_HELD", 300)
    spilled = read(NAME, path).tables["container_amount"]
    keys = ["container", "time_ms"]
    assert held.height == 9 * 50
    assert spilled.sort(keys).equals(held.sort(keys))


def test_the_page_of_the_source_names_every_metric_that_is_read() -> None:
    page = (DOCS / "sources" / "kubernetes.md").read_text(encoding="utf-8")
    assert [name for name in (*USES, *STATES) if f"`{name}`" not in page] == []


def test_every_query_gives_what_the_table_of_metrics_knows() -> None:
    assert {query.name for query in QUERIES} <= {*USES, *STATES}
    for query in QUERIES:
        text = query.promql(match='cluster="x"', rate="2m", span="5m")
        assert 'cluster="x"' in text
        assert "$" not in text
        bare = query.promql(match="", rate="2m", span="5m")
        assert ",}" not in bare


REAL = [
    ("in.om", 8),
    ("promtool_tsdb_dump.txt", 8),
    ("victoriametrics_export.jsonl", 8),
]


@pytest.mark.parametrize(("name", "cores"), REAL)
def test_real_rows_of_one_prometheus_in_three_forms(name: str, cores: int) -> None:
    found = read(NAME, shared_data("prometheus") / name)
    assert found.broken == []
    cpu = found.tables["node_resource"].filter(pl.col("resource") == "cpu")
    assert cpu["amount"].to_list() == [cores, cores]
    assert sorted(found.rows("container", "container", "service", "node")) == [
        ("default/db-0", "default/db", "node-b"),
        ("default/web-7d4b9c6f5d-x2x7k", "default/web", "node-a"),
    ]
    used = found.tables["container_amount"]
    first = used.filter(
        (pl.col("container") == "default/db-0") & (pl.col("time_ms") == (START + 30) * MS)
    ).sort("resource")
    rate = (14.179023 - 5.077173) / 30
    assert first["amount"].to_list() == [pytest.approx(rate, rel=1e-12), 196_843_463.0]
    assert used.height == 2 * (19 + 20)


def test_real_answers_of_a_query() -> None:
    folder = shared_data("prometheus")
    path = folder / "range_sumbynamespacepodcontainernoderatecontai.json"
    one = opened(path)
    named = Opened(path=path, name="container_cpu_in_use.json", stream=one.stream)
    batches: list[Any] = list(file_of(NAME, path).read(named))
    [rows] = [batch.rows for batch in batches]
    assert rows.height == 38
    assert rows["amount"][0] == 0.11815852500000001
