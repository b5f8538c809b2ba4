"""Spans of OpenTelemetry become calls: positions, both ends' records, lost parents."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reading_support import opened, read, recognised

from tracekit.commands.callgraph import callgraph
from tracekit.intake.ingest import ingest
from tracekit.intake.sources.own import _spans
from tracekit.store.folder import open_store
from tracekit.store.query import Database

TRACE = "0af7651916cd43dd8448eb211c80319c"
KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
START_MS = 1_767_225_600_000
RPC = {"rpc.system": "grpc"}


def _id(number: int) -> str:
    return f"{number:016x}" if number else ""


def span(
    number: int,
    parent: int,
    kind: str,
    start_ms: float,
    duration_ms: float,
    name: str = "op",
    tags: dict[str, str] | None = None,
    trace: str = TRACE,
) -> dict[str, Any]:
    start = START_MS * 10**6 + round(start_ms * 1e6)
    return {
        "traceId": trace,
        "spanId": _id(number),
        "parentSpanId": _id(parent),
        "name": name,
        "kind": KINDS[kind],
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + round(duration_ms * 1e6)),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in (tags or {}).items()
        ],
        "status": {},
    }


def resource(service: str, *spans: dict[str, Any], scopes: str = "scopeSpans") -> dict[str, Any]:
    about = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resource": about, scopes: [{"scope": {}, "spans": list(spans)}]}


def line(*resources: dict[str, Any], key: str = "resourceSpans") -> str:
    return json.dumps({key: list(resources)})


SHOP = (
    resource(
        "front",
        span(1, 0, "server", 0, 50, "GET /", {"http.request.method": "GET"}),
        span(2, 1, "internal", 1, 40),
        span(3, 2, "client", 10, 20, "Cart/Get", RPC),
        span(4, 1, "client", 2, 5, "SELECT", {"db.system": "mysql", "db.name": "shop"}),
    ),
    resource(
        "cart",
        span(5, 3, "server", 12, 15, "cart.Cart/Get", RPC),
        span(6, 5, "client", 13, 1, "GET", {"db.system": "redis"}),
        span(7, 5, "producer", 15, 0.5, "send", {"messaging.system": "kafka"}),
    ),
    resource("mail", span(8, 7, "consumer", 99, 3, "receive", {"messaging.system": "kafka"})),
)
CALLS = [
    ("0", None, "http", "front", "GET /", 0, -50.0),
    ("0.1", "front", "db", "mysql/shop", None, 2, 5.0),
    ("0.2", "front", "rpc", "cart", "cart.Cart/Get", 10, 20.0),
    ("0.2", "front", "rpc", "cart", "cart.Cart/Get", 12, -15.0),
    ("0.2.1", "cart", "mc", "redis", None, 13, 1.0),
    ("0.2.2", "cart", "mq", "mail", None, 15, 0.5),
    ("0.2.2", "cart", "mq", "mail", None, 99, -3.0),
]


def _calls(path: Path, *beside: Path) -> list[tuple[object, ...]]:
    found = read("otlp", path, {"spans": tuple(opened(one) for one in (path, *beside))})
    assert found.broken == []
    if "call" not in found.tables:
        return []
    rows = found.tables["call"].select(
        "rpc_id",
        "upstream",
        "rpc_type",
        "downstream",
        "interface",
        found.tables["call"]["time_ms"] - START_MS,
        "response_time_ms",
    )
    return sorted(rows.rows(), key=lambda row: (row[0], row[5]))


def _write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


FORMS = {
    "one line": [line(*SHOP)],
    "a line each, the last first": [line(one) for one in reversed(SHOP)],
    "many lines": [json.dumps({"resourceSpans": SHOP}, indent=1)],
    "older": [line(*SHOP).replace("scopeSpans", "instrumentationLibrarySpans")],
    "Tempo": [json.dumps({"batches": SHOP})],
    "Tempo 2": [json.dumps({"trace": {"resourceSpans": SHOP}})],
    "a list": [json.dumps([{"resourceSpans": SHOP}])],
    "names of kinds": [line(*SHOP).replace('"kind": 3', '"kind": "SPAN_KIND_CLIENT"')],
}


@pytest.mark.parametrize("form", FORMS)
def test_spans_become_calls_with_a_record_for_each_end(tmp_path: Path, form: str) -> None:
    path = _write(tmp_path / "spans.json", *FORMS[form])
    assert recognised(path) == [("otlp", "spans")]
    assert _calls(path) == CALLS


def test_ids_in_base64_are_those_in_hex(tmp_path: Path) -> None:
    def packed(text: str) -> str:
        return base64.b64encode(bytes.fromhex(text)).decode()

    text = line(*SHOP)
    for one in [TRACE, *(_id(number) for number in range(1, 9))]:
        text = text.replace(f'"{one}"', f'"{packed(one)}"')
    found = read("otlp", _write(tmp_path / "spans.json", text))
    assert set(found.tables["call"]["trace"]) == {TRACE}
    assert len(found.tables["call"]) == len(CALLS)


def test_a_trace_may_lie_in_several_files_and_a_span_in_two(tmp_path: Path) -> None:
    first = _write(tmp_path / "a.jsonl", line(SHOP[2]), line(SHOP[1]))
    second = _write(tmp_path / "b.jsonl", line(SHOP[0]), line(SHOP[2]))
    assert _calls(second, first) == []
    # the repeated record is left to ingest, which counts it
    assert _calls(first, second) == [*CALLS, CALLS[-1]]


PLACES: dict[str, tuple[list[tuple[str, dict[str, Any]]], list[tuple[object, ...]]]] = {
    "first span is a call to another service": (
        [("a", span(1, 0, "client", 0, 9)), ("b", span(2, 1, "server", 1, 5))],
        [("0.1", "a", "b", 9.0), ("0.1", "a", "b", -5.0)],
    ),
    "first span is work of its own": (
        [("cron", span(1, 0, "internal", 0, 9)), ("cron", span(2, 1, "client", 1, 5))],
        [("0", None, "cron", -9.0), ("0.1", "cron", None, 5.0)],
    ),
    "lost parents are two places that no record is of": (
        [
            ("a", span(1, 0, "server", 0, 9)),
            ("b", span(2, 77, "server", 1, 5)),
            ("c", span(3, 77, "server", 2, 4)),
            ("d", span(4, 78, "internal", 3, 4)),
            ("d", span(5, 4, "client", 4, 2)),
        ],
        [
            ("0", None, "a", -9.0),
            ("1.1", None, "b", -5.0),
            ("1.2", None, "c", -4.0),
            ("2.1", "d", None, 2.0),
        ],
    ),
    "the called service left no span of its own end": (
        [("a", span(1, 0, "server", 0, 9)), ("a", span(2, 1, "client", 1, 8)),
         ("b", span(3, 2, "client", 2, 3)), ("c", span(4, 3, "server", 2, 2))],
        [("0", None, "a", -9.0), ("0.1", "a", "b", 8.0), ("0.1.1", "b", "c", 3.0),
         ("0.1.1", "b", "c", -2.0)],
    ),
    "work lies between the two ends": (
        [("a", span(1, 0, "server", 0, 9)), ("a", span(2, 1, "client", 1, 8)),
         ("a", span(3, 2, "internal", 1, 7)), ("b", span(4, 3, "server", 2, 2))],
        [("0", None, "a", -9.0), ("0.1", "a", "b", 8.0), ("0.1", "a", "b", -2.0)],
    ),
    "the calling service left no span of its own end": (
        [("a", span(1, 0, "server", 0, 9)), ("b", span(2, 1, "internal", 2, 3))],
        [("0", None, "a", -9.0), ("0.1", "a", "b", -3.0)],
    ),
    "a call within a call of one service stands beside it": (
        [("a", span(1, 0, "server", 0, 9)), ("a", span(2, 1, "client", 1, 8)),
         ("a", span(3, 2, "client", 2, 6)), ("b", span(4, 3, "server", 3, 2))],
        [("0", None, "a", -9.0), ("0.1", "a", None, 8.0), ("0.2", "a", "b", 6.0),
         ("0.2", "a", "b", -2.0)],
    ),
    "clocks disagree": (
        [("a", span(1, 0, "server", 100, 9)), ("a", span(2, 1, "client", 101, 8)),
         ("b", span(3, 2, "server", 2, 3))],
        [("0", None, "a", -9.0), ("0.1", "a", "b", 8.0), ("0.1", "a", "b", -3.0)],
    ),
    "both ends have one id, as Zipkin writes them": (
        [("a", span(1, 0, "server", 0, 9)), ("a", span(2, 1, "client", 1, 8)),
         ("b", span(2, 1, "server", 2, 3)), ("b", span(3, 2, "client", 3, 1))],
        [("0", None, "a", -9.0), ("0.1", "a", "b", 8.0), ("0.1", "a", "b", -3.0),
         ("0.1.1", "b", None, 1.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_places_of_calls(tmp_path: Path, case: str) -> None:
    spans, wanted = PLACES[case]
    path = _write(tmp_path / "s.json", *(line(resource(service, one)) for service, one in spans))
    found = [(row[0], row[1], row[3], row[6]) for row in _calls(path)]
    assert sorted(found, key=str) == sorted(wanted, key=str)


BROKEN = {
    "no JSON": ('{"resourceSpans": [', "is no JSON"),
    "no spans": ('{"resourceMetrics": []}', "has none of resourceSpans"),
    "no id": (line(resource("a", span(0, 1, "server", 0, 1))), "has no traceId or no spanId"),
    "no time": (
        line(resource("a", {**span(9, 1, "server", 0, 1), "startTimeUnixNano": "x"})),
        "is no span: ValueError",
    ),
    "ends early": (line(resource("a", span(9, 1, "server", 0, -5))), "expected no earlier than"),
    "own ancestor": (line(resource("a", span(9, 9, "server", 0, 1))), "is its own ancestor"),
    "id of another": (
        line(resource("b", span(1, 0, "server", 0, 7))), "is the id of another span of the trace"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_span_is_told_with_its_line(tmp_path: Path, case: str) -> None:
    text, reason = BROKEN[case]
    good = line(resource("a", span(1, 0, "server", 0, 9)))
    found = read("otlp", _write(tmp_path / "s.json", good, "", text))
    assert [(one.table, one.line) for one in found.broken] == [("call", 3)]
    assert reason in found.broken[0].reason
    assert found.rows("call", "rpc_id", "line") == [("0", 1)]


def test_many_spans_are_set_down_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [f"{number:032x}" for number in range(1, 30)]
    spans = [
        (service, {**span(number, parent, kind, number, 9 - number), "traceId": trace})
        for number, parent, kind, service in (
            (2, 1, "client", "a"),
            (3, 2, "server", "b"),
            (1, 0, "server", "a"),
        )
        for trace in traces
    ]
    path = _write(tmp_path / "s.json", *(line(resource(*one)) for one in spans))
    whole = read("otlp", path).tables["call"].sort("trace", "rpc_id", "line")
    monkeypatch.setattr(_spans, "_HELD_SPANS", 10)
    assert read("otlp", path).tables["call"].sort("trace", "rpc_id", "line").equals(whole)
    assert whole.height == 3 * len(traces)


def test_call_graphs_of_spans(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    _write(trace / "a.jsonl", line(SHOP[2]), line(SHOP[1]))
    _write(trace / "b.jsonl", line(SHOP[0]), line(SHOP[2]))
    ingest(trace, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        assert database.frame("SELECT count(*) FROM call").item() == len(CALLS)
    callgraph(tmp_path / "store", out=tmp_path / "graphs")
    calls = pl.read_parquet(tmp_path / "graphs" / "calls.parquet").sort("call")
    assert calls.select("rpc_id", "parent", "upstream", "downstream", "repeats").rows() == [
        ("0", None, None, "front", 1),
        ("0.1", 0, "front", "mysql/shop", 1),
        ("0.2", 0, "front", "cart", 1),
        ("0.2.1", 2, "cart", "redis", 1),
        ("0.2.2", 2, "cart", "mail", 1),
    ]


NO_JSON = {
    "nested": '{"resourceSpans":' + "[" * 100_000,
    "a long number": '{"resourceSpans":[' + "1" * 5_000 + "]}",
    "no JSON": "nonsense",
}


@pytest.mark.parametrize("case", NO_JSON)
def test_a_line_that_is_no_json_goes_to_the_rejects(tmp_path: Path, case: str) -> None:
    whole = json.dumps({"resourceSpans": []})
    (tmp_path / "spans.json").write_text(f"{whole}\n{NO_JSON[case]}\n")
    ingest(tmp_path / "spans.json", tmp_path / "store", max_rejects_fraction=1.0)
    parts = open_store(tmp_path / "store").manifest.parts("call")
    assert [one.rejected for one in parts] == [1]
    with Database(open_store(tmp_path / "store")) as database:
        lines = database.frame("SELECT line, reason FROM reject")
    assert lines["line"].to_list() == [2]
    assert "is no JSON" in lines["reason"][0]
