"""A server whose answers are made up: headers, refusals, warnings, cuts, addresses, times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from prometheus_support import END_S, START_S, STEP_S, Made, Reply, fetched, serving, some

from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.intake.fetch import prometheus_query as fetching
from tracekit.intake.fetch.http import Retries
from tracekit.intake.fetch.server import Server, address, span_s, spelled_span, time_s
from tracekit.intake.sources.own._prometheus.metrics import QUERIES


def test_headers_go_along_and_are_written_nowhere(tmp_path: Path) -> None:
    with serving(Made()) as made:
        fetched(
            made.url, tmp_path, headers=["Authorization: Bearer secret"], labels=['cluster=a"b']
        )
    assert {one["Authorization"] for one in made.heard} == {"Bearer secret"}
    assert all('cluster="a\\"b"' in query for query in made.asked)
    for path in tmp_path.iterdir():
        assert b"secret" not in path.read_bytes()


def test_a_redirect_gets_no_header_and_a_password_is_not_taken(tmp_path: Path) -> None:
    with serving(Made()) as other, serving(Made(moved_to=other)) as made:
        fetched(made.url, tmp_path / "a", headers=["Authorization: Bearer secret"])
    assert other.heard
    assert not any("Authorization" in one for one in other.heard)
    with pytest.raises(TracekitError) as error:
        fetched("http://me:secret@localhost:9090", tmp_path / "b")
    assert "secret" not in f"{error.value.what}{error.value.hint}"


def _error(code: int, text: str) -> Reply:
    return lambda _: (code, json.dumps({"status": "error", "error": text}).encode())


def test_what_passes_is_asked_again(tmp_path: Path) -> None:
    whole = some("x")[1]
    replies: list[Reply] = [
        _error(503, "starting"),
        some,
        lambda _: (200, whole[: len(whole) // 2]),
        some,
    ]
    with serving(Made(replies=replies)) as made:
        summary = fetched(made.url, tmp_path)
    assert {one.samples for one in summary.queries} == {1}


def test_a_query_that_is_refused_does_not_hinder_the_others(tmp_path: Path) -> None:
    replies = [_error(422, "many-to-many matching not allowed")] * 2
    with serving(Made(replies=list(replies))) as made, pytest.raises(TracekitError):
        fetched(made.url, tmp_path)
    assert len(list(tmp_path.glob("*.gz"))) == len(QUERIES) - 1


def _in_200(**members: object) -> Reply:
    return lambda query: (200, json.dumps({**json.loads(some(query)[1]), **members}).encode())


def _nested(code: int, begins: str, times: int) -> Reply:
    return lambda _: (code, (begins * times).encode())


WRONG: dict[str, Reply] = {
    "an error in a 200": _in_200(status="error", error="boom"),
    "a vector": _in_200(data={"resultType": "vector", "result": []}),
    "a scalar": _in_200(data={"resultType": "scalar", "result": [1, "1"]}),
    "no status": _in_200(status=None),
    "data in data": _nested(200, '{"data":', 20_000),
    "an error in an error": _nested(400, '{"error":', 3_000),
    "a count without end": lambda _: (200, b'{"status": "success", "data": "' + b"x" * (6 << 20)),
}


@pytest.mark.parametrize("reply", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("at", ["count", "answer"])
def test_what_is_no_answer_is_an_error_and_none_is_here(
    tmp_path: Path, reply: Reply, at: str
) -> None:
    def served(query: str) -> tuple[int, bytes]:
        return reply(query) if query.startswith("count(") == (at == "count") else some(query)

    with serving(Made(replies=[served] * 400)) as made, pytest.raises(TracekitError) as error:
        fetched(made.url, tmp_path)
    assert len(error.value.what) < 1_000
    assert list(tmp_path.glob("*.gz")) == []


@pytest.mark.parametrize("page", ["/graph", "/graph?g0.expr=up", "/query", "/api/v1", "/"])
def test_the_address_of_a_page_is_that_of_its_server(page: str) -> None:
    assert address(f"http://host:9090/prom{page}") == "http://host:9090/prom"


def _warning(**members: list[str]) -> Reply:
    return lambda query: (200, json.dumps({**json.loads(some(query)[1]), **members}).encode())


def test_what_came_with_a_warning_of_missing_data_is_asked_for_again(tmp_path: Path) -> None:
    """Thanos and Mimir answer with what they have where a store is away."""
    warning = "PromQL: partial response: store-1 unavailable"
    with serving(Made(replies=[some, _warning(warnings=[warning])])) as made:
        with pytest.raises(TracekitError):
            fetched(made.url, tmp_path)
        files = {path.name for path in tmp_path.glob("*.gz")}
        requests = len(made.asked)
        again = fetched(made.url, tmp_path)
    assert len(made.asked) - requests == 2
    assert {one.outcome for one in again.queries[1:]} == {"known"}
    assert all(one.warnings == () for one in again.queries)
    assert {path.name for path in tmp_path.glob("*.gz")} == files


@pytest.mark.slow
def test_a_slice_that_was_not_whole_makes_way_for_a_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned = _warning(warnings=["no store matched"])
    with serving(Made(replies=[some, *[warned] * 500])) as made:
        monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 2)
        with pytest.raises(TracekitError):
            fetched(made.url, tmp_path)
        few = len(list(tmp_path.glob("container_cpu_in_use*.gz")))
        monkeypatch.undo()
        made.replies.clear()
        fetched(made.url, tmp_path)
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
    with serving(Made(replies=[some, _warning(**members)])) as made:
        first = fetched(made.url, tmp_path)
        again = fetched(made.url, tmp_path)
    assert first.queries[0].warnings == again.queries[0].warnings == expected
    assert again.queries[0].outcome == "known"


def _half(query: str) -> tuple[int, bytes]:
    whole = some(query)[1]
    return 200, whole[: len(whole) // 2]


@pytest.mark.parametrize("length", [True, False], ids=["length", "no length"])
@pytest.mark.parametrize("first", [[], [some]], ids=["at the count", "at the answer"])
def test_a_connection_that_is_cut_is_tried_again(
    tmp_path: Path, first: list[Reply], length: bool
) -> None:
    waits: list[float] = []
    tries = Retries(tries=3, sleep=waits.append)
    replies = [*first, *[_half] * 3]
    with (
        serving(Made(replies=replies, cut=length and not first)) as made,
        pytest.raises(TracekitError),
    ):
        fetched(made.url, tmp_path, retries=tries)
    assert len(waits) == 2
    assert not list(tmp_path.glob("*.gz"))


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
    assert "yesterday" in capsys.readouterr().err
    with pytest.raises(TracekitError):
        fetched("http://127.0.0.1:9", tmp_path)


def test_a_port_where_nothing_ever_answered_is_not_waited_for(tmp_path: Path) -> None:
    waits: list[float] = []
    with pytest.raises(TracekitError):
        fetched("http://127.0.0.1:9", tmp_path, retries=Retries(sleep=waits.append))
    assert len(waits) == 1


def test_a_server_that_goes_away_is_waited_for() -> None:
    waits: list[float] = []
    with serving(Made(replies=[some])) as made:
        url = made.url
        tries = Retries(tries=4, sleep=waits.append)
        server = Server(
            url=url, headers={}, timeout_s=5, retries=tries, rng=np.random.default_rng(0)
        )
        server.values("up", START_S, END_S, STEP_S)
    with pytest.raises(TracekitError):
        server.tried(lambda: server.values("up", START_S, END_S, STEP_S), "up", "by hand")
    assert len(waits) == 3


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
