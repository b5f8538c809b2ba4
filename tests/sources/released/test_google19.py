"""The five tables of google19, as JSON lines, as Parquet, and as Parquet packed by gzip."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
from reading_support import Reading, opened, read, recognised, stored
from tests_support import shared_data

from tracekit.errors import TracekitError
from tracekit.sources import Opened

NAME = "google19"
SECOND = 1_000_000
LATE = (1 << 63) - 1
Row = dict[str, object]


def _written(folder: Path, name: str, *rows: Row | str) -> Path:
    """JSON lines as upstream writes them: every INT64 a string."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-000000000000.json"
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows))
    return path


def _event(at: int, kind: object, *, collection: int = 7, index: int = 0, **more: object) -> Row:
    return {
        "time": str(at * SECOND),
        "type": kind,
        "collection_id": str(collection),
        "instance_index": str(index),
        **more,
    }


def _instances(tmp_path: Path, *rows: Row | str, **beside: tuple[Opened, ...]) -> Reading:
    return read(NAME, _written(tmp_path, "instance_events", *rows), beside)


HEADS: list[tuple[str, Row, str]] = [
    ("machine_events", {"time": "0", "machine_id": "5", "type": "1"}, "machines"),
    ("machine_attributes", {"time": "0", "machine_id": "5", "name": "o/"}, "attributes"),
    ("collection_events", {"time": "0", "type": "0", "collection_id": "7"}, "collections"),
    ("instance_events", _event(0, "0"), "instances"),
    (
        "instance_usage",
        {"start_time": "0", "collection_id": "7", "instance_index": "0", "average_usage": {}},
        "usage",
    ),
]


@pytest.mark.parametrize(("name", "row", "word"), HEADS)
def test_each_table_is_recognised_in_every_form(
    tmp_path: Path, name: str, row: Row, word: str
) -> None:
    plain = _written(tmp_path, "part", row)
    assert recognised(plain) == [(NAME, word)]
    filled = {key: value or {"cpus": 0.5} for key, value in row.items()}
    parquet = tmp_path / "part.parquet"
    pl.DataFrame([filled]).write_parquet(parquet)
    assert recognised(parquet) == [(NAME, word)]
    packed = tmp_path / f"{name}-000000000000.parquet.gz"
    packed.write_bytes(gzip.compress(parquet.read_bytes()))
    assert recognised(packed) == [(NAME, word)]


@pytest.mark.parametrize("row", ['{"time": 1}', "{", "[1, 2]", '{"machine_id": 3, "type": 1}'])
def test_other_lines_are_nobodys(tmp_path: Path, row: str) -> None:
    assert recognised(_written(tmp_path, "instance_events", row)) == []


LIVES: list[tuple[list[tuple[int, object]], tuple[int, int | None]]] = [
    ([(700, "0"), (701, "3"), (800, "6")], (700, 800)),
    ([(700, "SUBMIT"), (701, "SCHEDULE"), (800, "KILL")], (700, 800)),
    ([(700, 0), (701, 3), (800, 4), (801, 0), (900, 5)], (700, 900)),
    ([(900, 5), (801, 0), (800, 4), (701, 3), (700, 0)], (700, 900)),
    ([(0, 3), (650, 10)], (600, None)),
    ([(700, 0), (701, 1), (702, 2), (703, 9)], (700, None)),
]


@pytest.mark.parametrize(("events", "life"), LIVES)
def test_lives_whatever_the_order_of_rows(
    tmp_path: Path, events: list[tuple[int, object]], life: tuple[int, int | None]
) -> None:
    begin, end = life
    found = _instances(tmp_path, *(_event(at, kind) for at, kind in events))
    assert found.broken == []
    assert found.rows("container", "container", "service", "time_ms", "departure_ms") == [
        ("7/0", "7", begin * 1000, None if end is None else end * 1000)
    ]


def test_what_lies_behind_the_trace_is_left_out(tmp_path: Path) -> None:
    late = {**_event(0, 6), "time": str(LATE)}
    found = _instances(tmp_path, _event(700, 0), late)
    assert found.rows("container", "departure_ms") == [(None,)]


def test_machine_priority_and_requests(tmp_path: Path) -> None:
    half, more = {"cpus": 0.5, "memory": "0.25"}, {"cpus": 0.75}
    found = _instances(
        tmp_path,
        _event(700, 0, priority="200", machine_id="0", resource_request=half),
        _event(701, 3, priority="200", machine_id="41", resource_request=half),
        _event(702, 10, priority="200", machine_id="41", resource_request=more),
        _event(703, 3, index=1, machine_id="-1", missing_type="1", resource_request=more),
    )
    assert found.rows("container", "container", "position", "node", "priority") == [
        ("7/0", 0, "41", 200.0),
        ("7/1", 1, None, None),
    ]
    columns = ("time_ms", "container", "resource", "request", "limit", "unit")
    assert sorted(found.rows("container_resource", *columns), key=str) == [
        (700_000, "7/0", "cpu", 0.5, None, "fraction"),
        (700_000, "7/0", "memory", 0.25, None, "fraction"),
        (702_000, "7/0", "cpu", 0.75, None, "fraction"),
        (703_000, "7/1", "cpu", 0.75, None, "fraction"),
    ]


def test_alloc_instances_reserve_and_tasks_in_them_do_not(tmp_path: Path) -> None:
    found = _instances(
        tmp_path,
        _event(700, 0, collection=9, index=2, collection_type="ALLOC_SET",
               resource_request={"cpus": 0.5}),
        _event(701, 0, alloc_collection_id="9", alloc_instance_index="2", collection_type="0",
               resource_request={"cpus": 0.25}),
        _event(702, 0, index=1, alloc_collection_id="0", alloc_instance_index="-1",
               resource_request={"cpus": 0.1}),
    )  # fmt: skip
    assert found.rows("container", "container", "together", "together_domain") == [
        ("9/2", "9/2", "node"),
        ("7/0", "9/2", "node"),
        ("7/1", None, None),
    ]
    assert sorted(found.rows("container_resource", "container", "request", "limit"), key=str) == [
        ("7/0", 0.0, 0.25),
        ("7/1", 0.1, None),
        ("9/2", 0.5, None),
    ]


LIMITS: list[tuple[Row, tuple[object, ...]]] = [
    ({}, (None, None, None)),
    ({"max_per_machine": "0"}, (None, None, None)),
    ({"max_per_machine": "2"}, ("7", "node", 2)),
    ({"max_per_switch": 3}, ("7", "rack", 3)),
    ({"max_per_machine": "1", "max_per_switch": "3"}, ("7", "node", 1)),
]


@pytest.mark.parametrize(("limits", "apart"), LIMITS)
def test_limits_of_collections(tmp_path: Path, limits: Row, apart: tuple[object, ...]) -> None:
    row = {"time": "0", "type": "0", "collection_id": "7", **limits}
    collections = _written(tmp_path, "collection_events", row)
    found = _instances(tmp_path / "i", _event(700, 0), collections=(opened(collections),))
    assert found.rows("container", "apart", "apart_domain", "apart_most") == [apart]


CONSTRAINTS: list[tuple[Row, object]] = [
    ({"name": "a", "value": "x", "relation": "0"}, ("a", "In", ["x"])),
    ({"name": "a", "value": "x"}, ("a", "In", ["x"])),
    ({"name": "a", "value": "x", "relation": "NOT_EQUAL"}, ("a", "NotIn", ["x"])),
    ({"name": "a", "value": "4", "relation": 2}, ("a", "Lt", ["4"])),
    ({"name": "a", "value": "4", "relation": 4}, ("a", "Lt", ["5"])),
    ({"name": "a", "value": "4", "relation": "GREATER_THAN_EQUAL"}, ("a", "Gt", ["3"])),
    ({"name": "a", "relation": 6}, ("a", "Exists", None)),
    ({"name": "a", "relation": 7}, ("a", "DoesNotExist", None)),
    ({"name": "a", "value": "x", "relation": 3}, None),
]


@pytest.mark.parametrize(("constraint", "expected"), CONSTRAINTS)
def test_constraints_are_selectors_where_there_are_attributes(
    tmp_path: Path, constraint: Row, expected: tuple[str, str, list[str] | None] | None
) -> None:
    attribute: Row = {"time": "0", "machine_id": "5", "name": "a", "value": "x"}
    attributes = opened(_written(tmp_path, "machine_attributes", attribute))
    event = _event(700, 0, constraint=[constraint])
    ((text,),) = _instances(tmp_path / "i", event, attributes=(attributes,)).rows(
        "container", "selector"
    )
    if expected is None:
        assert text is None
    else:
        ((one,),) = json.loads(str(text))
        assert (one["key"], one["operator"], one.get("values")) == expected
    assert _instances(tmp_path / "j", event).rows("container", "selector") == [(None,)]


BROKEN: list[tuple[Row | str, str | None, str]] = [
    ("{", None, "is no JSON: "),
    ("[1]", None, "is a JSON list, expected an object"),
    ({**_event(1, 0), "time": {"s": 1}}, None, "has an object or a list where a text"),
    (_event(1, "START"), "type", "is 'START', expected one of SUBMIT, QUEUE"),
    (_event(1, 11), "type", "is '11', expected one of SUBMIT, QUEUE"),
    ({**_event(1, 0), "collection_id": None}, "collection_id", "is empty, expected a whole"),
    (_event(1, 0, resource_request={"cpus": "much"}), "cpus", "is 'much', expected a number"),
]


@pytest.mark.parametrize(("row", "column", "reason"), BROKEN)
def test_broken_rows(tmp_path: Path, row: Row | str, column: str | None, reason: str) -> None:
    found = _instances(tmp_path, _event(700, 0), row, _event(701, 4))
    ((line, at, said),) = found.reasons
    assert (line, at) == (2, column)
    assert said.startswith(reason)
    assert ("7/0", 701_000) in found.rows("container", "container", "departure_ms")


def test_lives_go_over_the_ends_of_files(tmp_path: Path) -> None:
    one = _written(tmp_path / "0", "instance_events", _event(800, 6))
    two = _written(tmp_path / "1", "instance_events", _event(700, 0))
    beside = {"instances": (opened(one), opened(two))}
    assert read(NAME, one, beside).rows("container", "time_ms", "departure_ms") == [
        (700_000, 800_000)
    ]
    assert "container" not in read(NAME, two, beside).tables


def test_machines_with_switches_and_attributes(tmp_path: Path) -> None:
    attributes = _written(
        tmp_path,
        "machine_attributes",
        {"time": "0", "machine_id": "5", "name": "a", "value": "1"},
        {"time": str(750 * SECOND), "machine_id": "5", "name": "a", "deleted": True},
    )
    machines = _written(
        tmp_path,
        "machine_events",
        {"time": "0", "machine_id": "5", "type": "ADD", "switch_id": "s", "platform_id": "p",
         "capacity": {"cpus": 0.5, "memory": 0.25}},
        {"time": str(800 * SECOND), "machine_id": "5", "type": "2"},
        {"time": str(900 * SECOND), "machine_id": "5", "type": 3, "capacity": {"cpus": "x"}},
    )  # fmt: skip
    found = read(NAME, machines, {"attributes": (opened(attributes),)})
    assert found.rows("node", "time_ms", "node", "state", "rack", "platform", "labels") == [
        (600_000, "5", "ready", "s", "p", '{"a": "1"}'),
        (800_000, "5", "gone", None, None, "{}"),
        (900_000, "5", "ready", None, None, "{}"),
    ]
    assert found.rows("node_resource", "time_ms", "resource", "amount", "unit") == [
        (600_000, "cpu", 0.5, "fraction"),
        (600_000, "memory", 0.25, "fraction"),
    ]
    assert found.reasons == [(3, "cpus", "is 'x', expected a number")]


def test_attributes_want_their_machines(tmp_path: Path) -> None:
    row: Row = {"time": "0", "machine_id": "5", "name": "a"}
    with pytest.raises(TracekitError, match="machine_attributes without machine_events"):
        read(NAME, _written(tmp_path, "machine_attributes", row))


def test_parquet_is_read_as_json_is(tmp_path: Path) -> None:
    rows = [
        {"start_time": 600 * SECOND, "collection_id": 7, "instance_index": 0, "unread": 1,
         "average_usage": {"cpus": 0.5, "memory": 0.25}},
        {"start_time": 900 * SECOND, "collection_id": 7, "instance_index": 0, "unread": 1,
         "average_usage": {"cpus": 0.75, "memory": None}},
    ]  # fmt: skip
    buffer = io.BytesIO()
    pl.DataFrame(rows).write_parquet(buffer)
    packed = tmp_path / "instance_usage-000000011068.parquet.gz"
    packed.write_bytes(gzip.compress(buffer.getvalue()))
    expected = [
        (600_000, "7/0", "cpu", 0.5),
        (600_000, "7/0", "memory", 0.25),
        (900_000, "7/0", "cpu", 0.75),
    ]
    columns = ("time_ms", "container", "resource", "amount")
    assert read(NAME, packed).rows("container_amount", *columns) == expected
    lines = _written(tmp_path, "instance_usage", *rows)
    assert read(NAME, lines).rows("container_amount", *columns) == expected


def test_a_sample_that_ends_before_it_starts_is_told(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"start_time": str(start * SECOND), **ends, "collection_id": "7",
         "instance_index": str(at), "average_usage": {"cpus": 0.5}}
        for at, (start, ends) in enumerate(
            [(600, {"end_time": str(900 * SECOND)}), (900, {"end_time": str(600 * SECOND)}),
             (600, {"end_time": str(600 * SECOND)}), (600, {})]
        )
    ]  # fmt: skip
    found = read(NAME, _written(tmp_path, "instance_usage", *rows))
    reason = "is '600000000', expected an end no earlier than the start"
    assert found.reasons == [(2, "end_time", reason)]
    assert list(found.tables["container_amount"]["container"]) == ["7/0", "7/2", "7/3"]


def test_a_cell_comes_into_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "cell"
    _written(folder, "machine_events", {"time": "0", "machine_id": "41", "type": 1,
                                        "switch_id": "s", "capacity": {"cpus": 1.0}})  # fmt: skip
    _written(folder, "instance_events", _event(700, 3, machine_id="41"), _event(800, 6))
    row: Row = {"time": "0", "type": "0", "collection_id": "7", "max_per_switch": "2"}
    _written(folder, "collection_events", row)
    sql = """
        SELECT container, departure_ms, node, rack, apart_domain, apart_most
        FROM container JOIN node USING (node)
    """
    assert stored(folder, tmp_path, sql) == [("7/0", 800_000, "41", "s", "rack", 2.0)]


def test_the_real_row() -> None:
    found = read(NAME, shared_data(NAME) / "instance_usage.one_row.json")
    assert found.broken == []
    columns = ("time_ms", "container", "resource", "amount")
    assert found.rows("container_amount", *columns) == [
        (1_838_400_000, "330587238433/111", "cpu", 0.008392333984375),
        (1_838_400_000, "330587238433/111", "memory", 0.0094757080078125),
    ]
