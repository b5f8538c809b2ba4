"""What Prometheus recorded, in every form it hands it out; what cannot be read in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from kubernetes_support import answer, series, written
from reading_support import file_of, opened, read, recognised
from series_support import (
    CLUSTER,
    FORMS,
    MEMORY,
    MS,
    NAME,
    START,
    Made,
    amounts_of,
    as_dump,
    as_openmetrics,
    as_range,
    at_times,
    files_beside,
    of_pod,
)
from tests_support import shared_data

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import Opened


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_every_form_says_the_same(
    tmp_path: Path, word: str, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    path = written(tmp_path / name, form(CLUSTER))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    assert found.broken == []
    assert amounts_of(found) == [
        (START * MS, "default/web-1", "memory", 110.0, "bytes"),
        ((START + 30) * MS, "default/web-1", "memory", 220.0, "bytes"),
    ]
    assert found.rows("node", "node", "time_ms", "state", "zone") == [
        ("n1", START * MS, "ready", "z"),
        ("n1", (START + 30) * MS, "closed", "z"),
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
    parts = ("resource", "init", "overhead", "own_request", "own_limit", "unit")
    assert found.rows("fixed_request", *parts) == [("cpu", 2.0, 0.125, 0.75, None, "cores")]


@pytest.mark.parametrize(("word", "name", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_what_is_no_number_is_told_and_the_rest_is_kept(
    tmp_path: Path, word: str, name: str, form: Callable[[Sequence[Made]], str]
) -> None:
    made: list[Made] = [(MEMORY, of_pod(), at_times(1, "NaN", 3, "+Inf"))]
    path = written(tmp_path / name, form(made))
    assert recognised(path) == [(NAME, word)]
    found = read(NAME, path)
    assert [row[3] for row in amounts_of(found)] == [1.0, 3.0]
    assert [reason.split(",")[0] for _, _, reason in found.reasons] == [
        "is NaN",
        "is '+Inf'",
    ]
    assert found.broken[0].text.startswith(MEMORY)


LINES = [
    ("this is no sample", "is no sample: expected {labels} value time"),
    ("garbage here", "is no sample: expected {labels} value time"),
    (', cpu="total", pod="a"} 195.05 1767226500000', "is no sample: expected {labels} value time"),
    ('{__name__="x", pod=web} 1 1', "has labels that cannot be read"),
    (f'{{__name__="{MEMORY}", pod="a", container="b"}} x 1', "is 'x', expected a finite number"),
    (f'{{__name__="{MEMORY}", pod="a", container="b"}} 5', "has no time"),
]


@pytest.mark.parametrize(("line", "reason"), LINES)
def test_a_broken_line_of_a_dump_is_told_with_its_number(
    tmp_path: Path, line: str, reason: str
) -> None:
    good = as_dump([(MEMORY, of_pod(), at_times(1, 2))]).splitlines()
    path = written(tmp_path / "dump.txt", "\n".join([good[0], line, good[1], ""]))
    found = read(NAME, path)
    assert found.reasons == [(2, None, reason)]
    assert [row[3] for row in amounts_of(found)] == [1.0, 2.0]


CUT = [
    ("answer.json", '{"status":"success","data":{"resultType":"matrix","result":['),
    ("bare.json", "["),
]


@pytest.mark.parametrize(("name", "begin"), CUT)
def test_an_answer_that_is_cut_off_is_refused(tmp_path: Path, name: str, begin: str) -> None:
    one = json.dumps(series(MEMORY, at_times(1), **of_pod()))
    path = written(tmp_path / name, f"{begin}{one},{one[: len(one) // 2]}")
    with pytest.raises(TracekitError, match="object 2 is cut off: the file ends before the value"):
        read(NAME, path)


def test_a_dump_that_is_cut_off_loses_its_last_line_only(tmp_path: Path) -> None:
    """Its time may have lost some digits and be a number all the same."""
    text = as_dump([(MEMORY, of_pod(), at_times(1, 2))])
    for left in (-30, -5, -1):
        found = read(NAME, written(tmp_path / "dump.txt", text[:left]))
        assert [row[3] for row in amounts_of(found)] == [1.0]
        assert found.reasons == [(2, None, "is cut off: the file ends before the line does")]


def test_open_metrics_without_its_last_line_may_be_cut_off(tmp_path: Path) -> None:
    text = as_openmetrics([(MEMORY, of_pod(), at_times(1, 2))])
    assert not read(NAME, written(tmp_path / "whole.om", text)).reasons
    found = read(NAME, written(tmp_path / "cut.om", text.removesuffix("# EOF\n")))
    assert [row[3] for row in amounts_of(found)] == [1.0, 2.0]
    assert found.reasons == [
        (3, None, "is the last line, expected # EOF after it: the file may have been cut off")
    ]


def test_a_result_without_names_is_what_its_file_or_its_query_is_called(tmp_path: Path) -> None:
    one = series(None, at_times(0.5), namespace="default", pod="web-1")
    named = read(NAME, written(tmp_path / "container_cpu_in_use-0.json", answer(one)))
    asked = read(NAME, written(tmp_path / "x.json", answer(one, name="container_cpu_in_use")))
    assert amounts_of(named) == amounts_of(asked)
    assert [row[2:4] for row in amounts_of(named)] == [("cpu", 0.5)]
    lost = read(NAME, written(tmp_path / "y.json", answer(one)))
    assert lost.tables == {}
    assert lost.reasons[0][2].startswith("is a series without __name__; name the file after")


def test_an_answer_that_is_an_error_is_one(tmp_path: Path) -> None:
    document = {"status": "error", "errorType": "bad_data", "error": "no such query"}
    path = written(tmp_path / "answer.json", document)
    with pytest.raises(TracekitError, match="Prometheus answered with an error: no such query"):
        read(NAME, path)


def test_a_file_of_other_metrics_is_refused_by_their_names(tmp_path: Path) -> None:
    path = written(tmp_path / "dump.txt", as_dump([("up", {"job": "x"}, at_times(1))]))
    with pytest.raises(TracekitError, match=r"holds no metric that says .* it holds up"):
        read(NAME, path)


def test_the_text_format_counts_in_milliseconds(tmp_path: Path) -> None:
    """As ``curl .../federate`` prints it: neither a dump nor OpenMetrics."""
    labels = 'container="main",namespace="default",pod="web-1"'
    lines = [f"{MEMORY}{{{labels}}} {100 + at} {(START + 30 * at) * MS}" for at in range(3)]
    text = "\n".join([f"# TYPE {MEMORY} gauge", *lines, ""])
    found = read(NAME, written(tmp_path / "federate.txt", text))
    assert [(row[0], row[3]) for row in amounts_of(found)] == [
        ((START + 30 * at) * MS, 100.0 + at) for at in range(3)
    ]


@pytest.mark.parametrize("named", [True, False], ids=["named", "by its file"])
def test_a_metric_that_is_not_needed_is_passed_over_beside_others(
    tmp_path: Path, named: bool
) -> None:
    info: Made = ("kube_pod_info", of_pod("web-1", None, uid="u", node="n1"), at_times(1))
    needed = written(tmp_path / "pods.json", as_range([info]))
    name = "kube_pod_status_ready"
    one = series(name if named else None, at_times(1), namespace="default", pod="web-1")
    other = written(tmp_path / f"{name}-20260101T000000Z.json", answer(one))
    found = read(NAME, other, files_beside(needed, other))
    assert (found.tables, found.broken) == ({}, [])
    with pytest.raises(TracekitError, match=f"it holds {name}"):
        read(NAME, other)


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
