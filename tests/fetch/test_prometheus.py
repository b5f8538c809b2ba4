"""A Prometheus, real and made up: values to the last digit, slices, resuming, refusals."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from kubernetes_support import answer, series
from polars.testing import assert_frame_equal
from prometheus_support import START_S, STEP_S, cluster, described, instant, prometheus, recorded
from reading_support import read

import tracekit
from tracekit.cli import run
from tracekit.errors import TracekitError
from tracekit.fetch import prometheus_query as fetching
from tracekit.fetch.prometheus import PrometheusSummary
from tracekit.fetch.retry import Retries
from tracekit.fetch.server import Server, address
from tracekit.fetch.spans import span_s, spelled_span, time_s
from tracekit.query import Database
from tracekit.sources.own._prometheus_metrics import QUERIES
from tracekit.store import open_store
from tracekit.verbs.fetch_prometheus import fetch_prometheus

PODS, SAMPLES = 100, 40
END_S = START_S + (SAMPLES - 1) * STEP_S
AT_ONCE = Retries(tries=3, sleep=lambda _: None)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real one, which answers at most 3,000 samples at once."""
    folder = tmp_path_factory.mktemp("prometheus") / "data"
    with prometheus(folder, recorded(PODS, SAMPLES), "--query.max-samples=3000") as url:
        yield url


def _fetch(url: str, out: Path, **more: Any) -> PrometheusSummary:
    given = {"start": str(START_S), "end": str(END_S), "retries": AT_ONCE, **more}
    return fetch_prometheus(url, out, **given)


def _amounts(out: Path) -> pl.DataFrame:
    frames = [
        read("kubernetes", path).tables["container_amount"] for path in sorted(out.glob("*.gz"))
    ]
    keys = ["container", "resource", "time_ms"]
    return pl.concat(frames).select(*keys, "amount").sort(keys)


def test_what_is_fetched_is_what_prometheus_says(server: str, tmp_path: Path) -> None:
    """Asked for too much at once, it is asked for less, until it answers."""
    summary = _fetch(server, tmp_path / "out")
    found = {one.name: one for one in summary.queries}
    assert set(found) == {one.name for one in QUERIES}
    cpu = found["container_cpu_in_use"]
    assert (cpu.outcome, cpu.series, cpu.samples) == ("fetched", PODS, PODS * (SAMPLES - 1))
    assert len(cpu.files) > 1
    amounts = _amounts(tmp_path / "out")
    assert amounts.height == PODS * (2 * SAMPLES - 1)
    assert amounts.unique(["container", "resource", "time_ms"]).height == amounts.height
    for name, resource in (("container_cpu_in_use", "cpu"), ("container_memory_in_use", "memory")):
        for at in (START_S + STEP_S, START_S + 20 * STEP_S, END_S):
            said = instant(server, found[name].promql, at)
            ours = amounts.filter(
                (pl.col("resource") == resource) & (pl.col("time_ms") == at * 1000)
            )
            by_name = dict(ours.select("container", "amount").iter_rows())
            assert len(said) == len(by_name) == PODS
            for labels, value in said.items():
                own = dict(labels)
                assert by_name[f"{own['namespace']}/{own['pod']}"] == pytest.approx(value, rel=1e-9)


def test_slices_join_to_what_one_answer_says(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fetch(server, tmp_path / "one")
    monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 5 * PODS)
    many = {one.name: one for one in _fetch(server, tmp_path / "many").queries}
    assert len(many["container_memory_in_use"].files) == SAMPLES // 5
    assert _amounts(tmp_path / "many").equals(_amounts(tmp_path / "one"))


def _twice(lines: Iterable[str]) -> Iterator[str]:
    """The same as two replicas of a Prometheus saw it."""
    for line in lines:
        labelled = (line.replace("{", f'{{prometheus_replica="p{at}",', 1) for at in range(2))
        yield from [line] if line.startswith("#") else labelled


def test_what_two_replicas_saw_counts_once(tmp_path: Path) -> None:
    found = []
    for name, lines in (("one", recorded(5, 12)), ("two", _twice(recorded(5, 12)))):
        with prometheus(tmp_path / name / "data", lines) as url:
            _fetch(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        found.append(_amounts(tmp_path / name / "out"))
    assert found[0].height == 5 * (2 * 12 - 1)
    assert_frame_equal(found[0], found[1])


def _of_pods(lines: Iterable[str]) -> Iterator[str]:
    """The same as a runtime tells it that knows of no container: the cgroup around each pod."""
    for line in lines:
        whole = re.sub(r'container="[^"]*"', 'id="/kubepods/burstable/pod0a-1b"', line)
        yield line if line.startswith("#") else whole


def test_where_no_container_is_seen_the_cgroup_of_the_pod_counts(tmp_path: Path) -> None:
    found = []
    for name, change in (("containers", lambda lines: lines), ("pods", _of_pods)):
        with prometheus(tmp_path / name / "data", change(recorded(5, 12))) as url:
            _fetch(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        found.append(_amounts(tmp_path / name / "out"))
    assert found[0].height == 5 * (2 * 12 - 1)
    assert_frame_equal(found[0], found[1])


def _without_honor_labels(lines: Iterable[str]) -> Iterator[str]:
    """The same as Prometheus keeps it where the labels of the exporter's pod go first."""
    own = 'namespace="monitoring",pod="cadvisor-x",container="cadvisor"'
    for line in lines:
        renamed = re.sub(r"(namespace|pod|container)=", r"exported_\1=", line)
        yield line if line.startswith("#") else renamed.replace("{", f"{{{own},", 1)


def _beside_the_machine(lines: Iterable[str]) -> Iterator[str]:
    """With the cgroups of the machine and of each pod, as an exporter tells of them, too."""
    for line in lines:
        yield line
        if not line.startswith("#"):
            around = re.sub(r'container="[^"]*"', 'id="/kubepods/burstable/pod0a-1b"', line)
            yield around
    # samples of one series lie together: that of the machine comes last
    for at in range(12):
        time_s = START_S + at * STEP_S
        yield f'container_memory_working_set_bytes{{id="/"}} 5e9 {time_s}\n'


def test_use_that_was_scraped_without_honor_labels_is_that_of_its_pods(tmp_path: Path) -> None:
    made = {
        "honored": recorded(5, 12),
        "renamed": _without_honor_labels(recorded(5, 12)),
        "around": _without_honor_labels(_beside_the_machine(recorded(5, 12))),
    }
    found = {}
    for name, lines in made.items():
        with prometheus(tmp_path / name / "data", lines) as url:
            _fetch(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        found[name] = _amounts(tmp_path / name / "out")
    assert found["honored"].height == 5 * (2 * 12 - 1)
    assert_frame_equal(found["honored"], found["renamed"])
    assert_frame_equal(found["honored"], found["around"])


def test_what_is_shown_can_be_asked_by_hand(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A week at 30 s: each command asks for no more points than Prometheus answers."""
    week = ["--from", "2026-01-01", "--to", "2026-01-08", "--step", "30s", "--show"]
    assert run(["fetch", "prometheus", server, str(tmp_path / "out"), *week]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("promtool")]
    files = [line.rpartition("> ")[2] for line in lines]
    assert len(set(files)) == len(files) > len(QUERIES)
    for query in QUERIES:
        mine = [
            [int(found[1]) for found in re.finditer(r"--(?:start|end|step)=(\d+)", line)]
            for line, file in zip(lines, files, strict=True)
            if re.fullmatch(rf"{query.name}(-\d+T\d+Z)?\.json", file)
        ]
        assert all((end - start) // step + 1 <= 11_000 for start, end, step in mine)
        ends = [end + step for _, end, step in mine]
        assert [start for start, _, _ in mine[1:]] == ends[:-1]
        assert (mine[0][0], mine[-1][1]) == (START_S, START_S + 7 * 86_400)


def test_running_again_asks_for_what_is_missing_only(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 10 * PODS)
    first = {one.name: one for one in _fetch(server, tmp_path).queries}
    assert {one.outcome for one in _fetch(server, tmp_path).queries} == {"known"}
    before = _amounts(tmp_path)
    lost = tmp_path / first["container_memory_in_use"].files[1]
    content = lost.read_bytes()
    lost.unlink()
    again = {one.name: one for one in _fetch(server, tmp_path).queries}
    outcomes = {name: one.outcome for name, one in again.items()}
    assert outcomes.pop("container_memory_in_use") == "resumed"
    assert set(outcomes.values()) == {"known"}
    assert lost.read_bytes() == content
    assert _amounts(tmp_path).equals(before)
    with pytest.raises(TracekitError, match=r"holds what another fetch asked for: .*step 30"):
        _fetch(server, tmp_path, step="1m")


def test_the_command_prints_each_query_and_what_is_next(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["fetch", "prometheus", server, str(tmp_path / "out")]
    times = ["--from", str(START_S), "--to", str(END_S), "--label", "cluster=x"]
    assert run([*call, *times, "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("promtool query range") == len(QUERIES)
    assert 'kube_pod_info{cluster="x"}[5m]' in shown
    assert not (tmp_path / "out").exists()
    assert run([*call, *times, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["from"] == "2026-01-01T00:00:00Z"
    assert {one["series"] for one in document["queries"]} == {0}
    assert list((tmp_path / "out").glob("*.gz")) == []


def test_a_cluster_comes_in_with_its_use(server: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cluster.json").write_text(json.dumps(cluster(10, PODS)))
    _fetch(server, tmp_path / "mine")
    summary = tracekit.ingest(tmp_path / "mine", tmp_path / "store")
    rows: dict[str, int] = {}
    for entry in summary.ingested:
        assert (entry.rejected, entry.duplicates_dropped) == (0, 0)
        rows[entry.table] = rows.get(entry.table, 0) + entry.rows
    assert rows == {
        "container": PODS,
        "container_amount": PODS * (2 * SAMPLES - 1),
        "container_resource": 2 * PODS,
        "node": 10,
        "node_resource": 30,
    }


def test_a_cluster_comes_in_from_prometheus_alone(tmp_path: Path) -> None:
    """kube-state-metrics twice, node exporters known by address, a pod that comes back."""
    gib = 1 << 30
    with prometheus(tmp_path / "data", described(3, 5, 40)) as url:
        _fetch(url, tmp_path / "mine")
    summary = tracekit.ingest(tmp_path / "mine", tmp_path / "store")
    assert {(entry.rejected, entry.duplicates_dropped) for entry in summary.ingested} == {(0, 0)}
    with Database(open_store(tmp_path / "store")) as database:
        nodes = database.frame("SELECT node, state, zone, platform, taints FROM node ORDER BY node")
        pods = database.frame(
            "SELECT container, service, node, departure_ms FROM container ORDER BY container"
        )
        sizes = database.frame("SELECT DISTINCT resource, request, unit FROM container_resource")
        used = database.frame(
            "SELECT node, resource, max(amount) AS most, count(*) AS samples FROM node_amount"
            " GROUP BY ALL ORDER BY ALL"
        )
    assert nodes.drop("taints").rows() == [
        ("n0", "closed", "z1", "big"),
        ("n1", "ready", "z1", "big"),
        ("n2", "ready", "z1", "big"),
    ]
    assert [taints is None for taints in nodes["taints"]] == [True, True, False]
    others = [(f"shop/p{at}", "shop/web", f"n{at % 3}") for at in range(1, 5)]
    assert pods.drop("departure_ms").rows() == [
        ("shop/p0", "shop/web", "n0"),
        ("shop/p0@u0second", "shop/web", "n1"),
        *others,
    ]
    assert [departure is None for departure in pods["departure_ms"]] == [False, *[True] * 5]
    assert sorted(sizes.rows()) == [("cpu", 0.25, "cores"), ("memory", float(gib), "bytes")]
    assert used.rows() == [
        (f"n{at}", resource, pytest.approx(amount), samples)
        for at in range(3)
        for resource, amount, samples in (("cpu", 1.5, 39), ("memory", 3 * gib, 40))
    ]


Reply = Callable[[str], tuple[int, bytes]]


@dataclass
class _Made:
    """A server whose replies to /api/v1/query_range are made; ``heard`` are their headers."""

    replies: list[Reply] = field(default_factory=list)
    heard: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    moved_to: _Made | None = None
    cut: bool = False


def _some(query: str) -> tuple[int, bytes]:
    if query.startswith("count("):
        return 200, json.dumps(answer(series(None, [(START_S, 1)]))).encode()
    one = series(None, [(START_S, 2.5)], namespace="default", pod="p")
    return 200, json.dumps(answer(one)).encode()


@contextmanager
def _serving(made: _Made) -> Iterator[_Made]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

        def do_GET(self) -> None:
            made.heard.append(dict(self.headers))
            asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            made.asked.append(asked["query"][0])
            if made.moved_to is not None:
                self.send_response(302)
                path = self.path.removeprefix("/prefix")
                self.send_header("Location", f"{made.moved_to.url}{path}")
                self.end_headers()
                return
            code, body = (made.replies.pop(0) if made.replies else _some)(asked["query"][0])
            self.send_response(code)
            if made.cut:
                self.send_header("Content-Length", str(2 * len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}/prefix"
        try:
            yield made
        finally:
            server.shutdown()


def test_headers_go_along_and_are_written_nowhere(tmp_path: Path) -> None:
    with _serving(_Made()) as made:
        _fetch(made.url, tmp_path, headers=["Authorization: Bearer secret"], labels=['cluster=a"b'])
    assert {one["Authorization"] for one in made.heard} == {"Bearer secret"}
    assert all('cluster="a\\"b"' in query for query in made.asked)
    for path in tmp_path.iterdir():
        assert b"secret" not in path.read_bytes()


def test_a_redirect_gets_no_header_and_a_password_is_not_taken(tmp_path: Path) -> None:
    with _serving(_Made()) as other, _serving(_Made(moved_to=other)) as made:
        _fetch(made.url, tmp_path / "a", headers=["Authorization: Bearer secret"])
    assert other.heard
    assert not any("Authorization" in one for one in other.heard)
    with pytest.raises(TracekitError, match="holds a name or a password") as told:
        _fetch("http://me:secret@localhost:9090", tmp_path / "b")
    assert "secret" not in f"{told.value.what}{told.value.hint}"


def _error(code: int, text: str) -> Reply:
    return lambda _: (code, json.dumps({"status": "error", "error": text}).encode())


def test_what_passes_is_asked_again(tmp_path: Path) -> None:
    whole = _some("x")[1]
    replies: list[Reply] = [
        _error(503, "starting"),
        _some,
        lambda _: (200, whole[: len(whole) // 2]),
        _some,
    ]
    with _serving(_Made(replies=replies)) as made:
        summary = _fetch(made.url, tmp_path)
    assert {one.samples for one in summary.queries} == {1}


def test_a_query_that_is_refused_does_not_hinder_the_others(tmp_path: Path) -> None:
    replies = [_error(422, "many-to-many matching not allowed")] * 2
    with _serving(_Made(replies=list(replies))) as made, pytest.raises(TracekitError) as told:
        _fetch(made.url, tmp_path)
    first = QUERIES[0].name
    assert told.value.what.startswith(f"{first}: HTTP 422 many-to-many matching not allowed")
    assert told.value.what.endswith(f"{len(QUERIES) - 1} queries are complete in {tmp_path}")
    assert (told.value.hint or "").startswith("ask it by hand: promtool query range")
    assert len(list(tmp_path.glob("*.gz"))) == len(QUERIES) - 1


def test_an_address_that_leads_nowhere_is_told_its_path(tmp_path: Path) -> None:
    replies: list[Reply] = [_error(404, "page not found")] * 3
    with _serving(_Made(replies=replies)) as made, pytest.raises(TracekitError) as told:
        _fetch(made.url, tmp_path)
    assert "HTTP 404" in told.value.what
    assert "give the address with the path that stands before /api/v1" in (told.value.hint or "")


@pytest.mark.parametrize("page", ["/graph", "/graph?g0.expr=up", "/query", "/api/v1", "/"])
def test_the_address_of_a_page_is_that_of_its_server(page: str) -> None:
    assert address(f"http://host:9090/prom{page}") == "http://host:9090/prom"


def test_a_span_without_data_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(_: str) -> tuple[int, bytes]:
        return 200, json.dumps(answer()).encode()

    replies: list[Reply] = [nothing] * (2 * len(QUERIES))
    with _serving(_Made(replies=replies)) as made:
        words = ["fetch", "prometheus", made.url, str(tmp_path / "out")]
        assert run([*words, "--from", str(START_S), "--to", str(END_S)]) == 0
    said = capsys.readouterr().out
    assert "the server has nothing of this span" in said
    assert "next:" not in said


def _warning(**members: list[str]) -> Reply:
    return lambda query: (200, json.dumps({**json.loads(_some(query)[1]), **members}).encode())


def test_what_came_with_a_warning_of_missing_data_is_asked_for_again(tmp_path: Path) -> None:
    """Thanos and Mimir answer with what they have where a store is away."""
    said = "PromQL: partial response: store-1 unavailable"
    with _serving(_Made(replies=[_some, _warning(warnings=[said])])) as made:
        match = f"missing: {QUERIES[0].name}: {said}$"
        with pytest.raises(TracekitError, match=match) as told:
            _fetch(made.url, tmp_path)
        assert "run the same command again" in str(told.value.hint)
        kept = {path.name for path in tmp_path.glob("*.gz")}
        asked = len(made.asked)
        again = _fetch(made.url, tmp_path)
    assert len(made.asked) - asked == 2
    assert {one.outcome for one in again.queries[1:]} == {"known"}
    assert all(one.warnings == () for one in again.queries)
    assert {path.name for path in tmp_path.glob("*.gz")} == kept


def test_a_slice_that_was_not_whole_makes_way_for_a_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned = _warning(warnings=["no store matched"])
    with _serving(_Made(replies=[_some, *[warned] * 500])) as made:
        monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 2)
        with pytest.raises(TracekitError, match="more warnings"):
            _fetch(made.url, tmp_path)
        few = len(list(tmp_path.glob("container_cpu_in_use*.gz")))
        monkeypatch.undo()
        made.replies.clear()
        _fetch(made.url, tmp_path)
    assert few > 1
    assert len(list(tmp_path.glob("container_cpu_in_use*.gz"))) == 1


REMARKS = [
    ({"infos": ["PromQL info: metric might not be a counter"]}, ()),
    ({"warnings": ["PromQL info: metric might not be a counter"]}, ()),
    ({"warnings": ["PromQL warning: mixed\n histograms"]}, ("PromQL warning: mixed histograms",)),
]


@pytest.mark.parametrize(("members", "expected"), REMARKS)
def test_a_remark_on_samples_leaves_an_answer_whole(
    tmp_path: Path, members: dict[str, list[str]], expected: tuple[str, ...]
) -> None:
    with _serving(_Made(replies=[_some, _warning(**members)])) as made:
        first = _fetch(made.url, tmp_path)
        again = _fetch(made.url, tmp_path)
    assert first.queries[0].warnings == again.queries[0].warnings == expected
    assert again.queries[0].outcome == "known"


def _half(query: str) -> tuple[int, bytes]:
    whole = _some(query)[1]
    return 200, whole[: len(whole) // 2]


@pytest.mark.parametrize("length", [True, False], ids=["length", "no length"])
@pytest.mark.parametrize("first", [[], [_some]], ids=["at the count", "at the answer"])
def test_a_connection_that_is_cut_is_tried_again(
    tmp_path: Path, first: list[Reply], length: bool
) -> None:
    waits: list[float] = []
    tries = Retries(tries=3, sleep=waits.append)
    replies = [*first, *[_half] * 3]
    with (
        _serving(_Made(replies=replies, cut=length and not first)) as made,
        pytest.raises(TracekitError, match="the connection was cut before") as told,
    ):
        _fetch(made.url, tmp_path, retries=tries)
    assert len(waits) == 2
    assert "run the same command again" in str(told.value.hint)
    assert not list(tmp_path.glob("*.gz"))


BAD = [
    ({}, lambda _: (200, b"<html>login</html>"), "does not answer as Prometheus does"),
    ({}, _error(401, "no entry"), "HTTP 401 no entry"),
    ({"start": "soon"}, _some, "--from soon: not a time"),
    ({"start": "now", "end": "now-1h"}, _some, "--from now is not before --to now-1h"),
    ({"step": "0"}, _some, "--step 0: not a span"),
    ({"labels": ["a-b=c"]}, _some, "--label a-b=c: expected NAME=VALUE"),
    ({"headers": ["Authorization"]}, _some, "--header: expected NAME: VALUE"),
]


@pytest.mark.parametrize(("given", "reply", "message"), BAD, ids=[case[2] for case in BAD])
def test_bad_input_is_told_and_nothing_is_left(
    tmp_path: Path, given: dict[str, Any], reply: Reply, message: str
) -> None:
    with (
        _serving(_Made(replies=[reply] * 20)) as made,
        pytest.raises(TracekitError, match=message),
    ):
        _fetch(made.url, tmp_path, **given)
    assert {path.name for path in tmp_path.iterdir()} <= {".prometheus.json"}


@pytest.mark.parametrize("url", ["localhost:9090", "ftp://x", "http://"])
def test_an_address_is_an_http_address(url: str, tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="not an http address"):
        _fetch(url, tmp_path)


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "fetch",
                "prometheus",
                "http://127.0.0.1:9/x",
                str(tmp_path / "o"),
                "--timeout",
                "1",
                "--from",
                "yesterday",
            ]
        )
        == 2
    )
    assert "--from yesterday: not a time" in capsys.readouterr().err
    with pytest.raises(TracekitError, match=r"127\.0\.0\.1:9"):
        _fetch("http://127.0.0.1:9", tmp_path)


TIMES = [
    ("now", 1000),
    ("now-30s", 970),
    ("now-1h", -2600),
    ("2026-01-01", START_S),
    ("2026-01-01T00:00:00Z", START_S),
    ("2026-01-01T02:00:00+02:00", START_S),
    ("1767225600", START_S),
    ("1767225600.7", START_S),
]


@pytest.mark.parametrize(("text", "time"), TIMES)
def test_times(text: str, time: int) -> None:
    assert time_s(text, "--from", 1000.0) == time


@pytest.mark.parametrize(("text", "span"), [("30", 30), ("30s", 30), ("5m", 300), ("1d", 86400)])
def test_spans(text: str, span: int) -> None:
    assert span_s(text, "--step") == span
    assert span_s(spelled_span(span), "--step") == span


def test_a_port_where_nothing_ever_answered_is_not_waited_for(tmp_path: Path) -> None:
    waits: list[float] = []
    with pytest.raises(TracekitError, match="refuses connections") as told:
        _fetch("http://127.0.0.1:9", tmp_path, retries=Retries(sleep=waits.append))
    assert told.value.hint == "is the server running?"
    assert len(waits) == 1


def test_a_server_that_goes_away_is_waited_for() -> None:
    waits: list[float] = []
    with _serving(_Made(replies=[_some])) as made:
        url = made.url
        tries = Retries(tries=4, sleep=waits.append)
        server = Server(
            url=url, headers={}, timeout_s=5, retries=tries, rng=np.random.default_rng(0)
        )
        server.values("up", START_S, END_S, STEP_S)
    with pytest.raises(TracekitError, match="refuses connections"):
        server.tried(lambda: server.values("up", START_S, END_S, STEP_S), "up", "by hand")
    assert len(waits) == 3
