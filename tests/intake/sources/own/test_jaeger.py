"""Spans of Jaeger become calls, whatever the form of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reading_support import opened, read, recognised

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest
from tracekit.intake.sources.own import _json_items
from tracekit.store.folder import open_store
from tracekit.store.query import Database

TRACE = "a0f7651916cd43dd"
START_MS = 1_767_225_600_000


def span(
    number: int,
    parent: int | None,
    process: str,
    start_us: int,
    duration_us: int,
    kind: str = "",
    name: str = "op",
    **more: Any,
) -> dict[str, Any]:
    tags = {**({"span.kind": kind} if kind else {}), **more.pop("tags", {})}
    reference = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": f"{parent or 0:x}"}
    return {
        "traceID": TRACE,
        "spanID": f"{number:016x}",
        "flags": 1,
        "operationName": name,
        "references": [reference] if parent else [],
        "startTime": START_MS * 1000 + start_us,
        "duration": duration_us,
        "tags": [{"key": key, "type": "string", "value": value} for key, value in tags.items()],
        "logs": [],
        "processID": process,
        "warnings": None,
        **more,
    }


PROCESSES = {f"p{at}": {"serviceName": name, "tags": []} for at, name in enumerate("abc", start=1)}
SPANS = [
    span(1, None, "p1", 0, 9_500, "server", "GET /", tags={"http.method": "GET"}),
    span(2, 1, "p1", 1_000, 8_000, "client", "call", tags={"rpc.system": "grpc"}),
    span(3, 2, "p2", 2_000, 6_000, "server", "Serve", tags={"rpc.system": "grpc"}),
    span(4, 3, "p2", 3_000, 1_000, "client", "SELECT", tags={"db.type": "redis"}),
    # neither says what it is: work within b, and a call that c tells of
    span(5, 3, "p2", 4_000, 3_000),
    span(6, 5, "p3", 5_000, 1_000, name="deep"),
]
CALLS = [
    ("0", None, "http", "a", "GET /", 0, -9.5),
    ("0.1", "a", "rpc", "b", "Serve", 1, 8.0),
    ("0.1", "a", "rpc", "b", "Serve", 2, -6.0),
    ("0.1.1", "b", "mc", "redis", None, 3, 1.0),
    ("0.1.2", "b", "rpc", "c", "deep", 5, -1.0),
]


def _trace(spans: list[dict[str, Any]] = SPANS) -> dict[str, Any]:
    return {"traceID": TRACE, "spans": spans, "processes": PROCESSES, "warnings": None}


def _answer(*traces: dict[str, Any]) -> dict[str, Any]:
    return {"data": list(traces), "total": 0, "limit": 0, "offset": 0, "errors": None}


def _alone(one: dict[str, Any]) -> str:
    bare = {key: value for key, value in one.items() if key != "processID"}
    return json.dumps({**bare, "process": PROCESSES[one["processID"]]})


FORMS = {
    "an answer": json.dumps(_answer(_trace())),
    "an answer over many lines": json.dumps(_answer(_trace()), indent=4),
    "counts first": json.dumps({"total": 1, **_answer(_trace())}),
    "a trace in two answers": "\n".join(
        json.dumps(_answer(_trace(part))) for part in (SPANS[3:], SPANS[:3])
    ),
    "a line for each trace": json.dumps(_trace(SPANS[:2])) + "\n" + json.dumps(_trace(SPANS[2:])),
    "a trace over many lines": json.dumps(_trace(), indent=1),
    "a list of traces": json.dumps([_trace()]),
    "a line for each span": "\n".join(_alone(one) for one in reversed(SPANS)),
    "older parents": json.dumps(
        _answer(
            _trace(
                [
                    {**one, "references": [], "parentSpanID": one["references"][0]["spanID"]}
                    if one["references"]
                    else one
                    for one in SPANS
                ]
            )
        )
    ),
}


def _calls(path: Path) -> list[tuple[object, ...]]:
    found = read("jaeger", path, {"spans": (opened(path),)})
    assert found.broken == []
    table = found.tables["call"]
    ms = (table["time_ms"] - START_MS).alias("ms")
    names = ("rpc_id", "upstream", "rpc_type", "downstream", "interface")
    rows = table.select(*names, ms, "response_time_ms").rows()
    return sorted(rows, key=lambda row: (row[0], row[5]))


@pytest.mark.parametrize("form", FORMS)
def test_spans_become_calls(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_items, "_CHUNK_CHARS", 100)
    path = tmp_path / "traces.json"
    path.write_text(FORMS[form])
    assert recognised(path) == [("jaeger", "spans")]
    assert _calls(path) == CALLS


def test_what_it_follows_is_a_parent_where_there_is_no_other(tmp_path: Path) -> None:
    follows = {"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": "2"}
    child = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": "1"}
    elsewhere = {"refType": "CHILD_OF", "traceID": "ffff", "spanID": "1"}
    spans = [
        *SPANS[:2],
        span(7, None, "p2", 3_000, 1, "server", references=[follows, elsewhere]),
        span(8, None, "p3", 4_000, 1, "server", references=[follows, child]),
        span(9, None, "p3", 5_000, 1, "server", references=[elsewhere]),
    ]
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(_answer(_trace(spans))))
    places = [row[0] for row in _calls(path) if row[6] == -0.001]
    assert places == ["0.1", "0.2", "1"]


BROKEN = {
    "no id": (json.dumps(_answer(_trace(), _trace([{**SPANS[0], "spanID": ""}]))), 2, "is no span"),
    "no time": (
        json.dumps(_answer(_trace(), _trace([{**SPANS[1], "startTime": None}]))), 2, "is no span"
    ),
    "negative": (
        json.dumps(_answer(_trace(), _trace([{**SPANS[1], "duration": -5}]))), 2, "duration is -5"
    ),
    "a number": (json.dumps(_answer(_trace(), 5)), 2, "is no trace"),  # type: ignore[arg-type]
    "a line": (json.dumps(_trace()) + "\n{oops: this line holds nothing}\n", 2, "is no JSON"),
}  # fmt: skip


def test_an_answer_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(_answer(_trace(), _trace()))[:-900])
    with pytest.raises(TracekitError, match="object 2 is cut off"):
        read("jaeger", path)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_span_is_told_with_its_place(tmp_path: Path, case: str) -> None:
    text, line, reason = BROKEN[case]
    path = tmp_path / "traces.json"
    path.write_text(text)
    found = read("jaeger", path)
    assert [one.line for one in found.broken] == [line]
    assert reason in found.broken[0].reason
    assert found.tables["call"].height == len(CALLS)


@pytest.mark.parametrize(
    "text", ['{"data": []}', '{"traceId": "0a", "spans": []}', "traceID,spanID\n", ""]
)
def test_another_file_is_not_taken(tmp_path: Path, text: str) -> None:
    path = tmp_path / "traces.json"
    path.write_text(text)
    assert recognised(path) == []


def test_spans_in_a_store(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(FORMS["an answer"])
    ingest(path, tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        asked = (
            "SELECT rpc_id, upstream, downstream FROM call WHERE response_time_ms > 0 ORDER BY 1"
        )
        assert database.frame(asked).rows() == [("0.1", "a", "b"), ("0.1.1", "b", "redis")]
