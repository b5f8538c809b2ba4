"""The five tables of google11, told apart by the shape of their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reading_support import Reading, opened, read, recognised, stored
from tests_support import shared_data

from tracekit.errors import TracekitError

NAME = "google11"
SECOND = 1_000_000
LATE = (1 << 63) - 1
HASH = "A" * 43 + "="
OTHER = "B" * 43 + "="


def _written(tmp_path: Path, *lines: str, name: str = "part-00000-of-00500.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def _event(
    time: int, event: int, *, task: str = "7,0", machine: str = "", rest: str = "0.5,0.25,0.1,0"
) -> str:
    return f"{time},,{task},{machine},{event},{HASH},3,9,{rest}"


def _tasks(tmp_path: Path, *lines: str) -> Reading:
    return read(NAME, _written(tmp_path, *lines))


SHAPES = [
    (f"0,5,0,{HASH},0.5,0.2493", "machines"),
    ("600000000,5,1,,,", "machines"),
    (f"0,5,{HASH},1,0", "attributes"),
    (f"5,5,{HASH},,1", "attributes"),
    (f"0,,3418309,0,{HASH},3,{HASH},{HASH}", "jobs"),
    (f"0,2,3418309,0,415552,0,{HASH},3,9,,,,", "tasks"),
    ("600000000,900000000,1,0,4," + ",".join(["0.5"] * 15), "usage"),
]


@pytest.mark.parametrize(("line", "word"), SHAPES)
def test_the_shape_of_the_lines_tells_the_table(tmp_path: Path, line: str, word: str) -> None:
    assert recognised(_written(tmp_path, line)) == [(NAME, word)]


@pytest.mark.parametrize("line", ["1,2,3", f"0,5,9,{HASH},0.5,0.5", "0,5,name,1,0"])
def test_other_lines_are_nobodys(tmp_path: Path, line: str) -> None:
    assert recognised(_written(tmp_path, line)) == []


LIVES = [
    # events as (seconds, code), the life in seconds
    ([(700, 0), (701, 1), (800, 4)], (700, 800)),
    ([(700, 0), (701, 1)], (700, None)),
    ([(0, 0)], (600, None)),
    ([(700, 0), (701, 1), (800, 2), (801, 0), (802, 1), (900, 5)], (700, 900)),
    ([(700, 0), (701, 1), (800, 3), (801, 0)], (700, None)),
    ([(0, 1), (650, 8), (700, 6)], (600, 700)),
    ([(650, 4)], (650, 650)),
    ([(700, 0), (800, 5), (800, 0)], (700, None)),
]


@pytest.mark.parametrize(("events", "life"), LIVES)
def test_lives(tmp_path: Path, events: list[tuple[int, int]], life: tuple[int, int | None]) -> None:
    lines = [_event(at * SECOND, code, machine="" if code == 0 else "41") for at, code in events]
    begin, end = life
    found = _tasks(tmp_path, *lines)
    assert found.broken == []
    assert found.rows("container", "container", "service", "time_ms", "departure_ms") == [
        ("7/0", "7", begin * 1000, None if end is None else end * 1000)
    ]


def test_a_task_has_its_first_machine_its_priority_and_keeps_apart(tmp_path: Path) -> None:
    found = _tasks(
        tmp_path,
        _event(700 * SECOND, 0, rest="0.5,0.25,0.1,1"),
        _event(701 * SECOND, 1, machine="41", rest="0.5,0.25,0.1,1"),
        _event(702 * SECOND, 2, machine="41", rest="0.5,0.25,0.1,1"),
        _event(703 * SECOND, 1, machine="42", rest="0.5,0.25,0.1,1"),
        _event(703 * SECOND, 0, task="8,1"),
    )
    columns = ("container", "position", "node", "priority", "apart", "apart_domain")
    assert found.rows("container", *columns) == [
        ("7/0", 0, "41", 9.0, "7", "node"),
        ("8/1", 1, None, 9.0, None, None),
    ]


def test_requests_change_and_may_be_missing(tmp_path: Path) -> None:
    found = _tasks(
        tmp_path,
        f"0,2,7,0,41,0,{HASH},3,9,,,,",
        _event(700 * SECOND, 8, rest="0.5,,,0"),
        _event(701 * SECOND, 1, rest="0.6,,,0"),
        f"{702 * SECOND},1,7,1,41,1,{HASH},3,9,0.125,,,",
    )
    columns = ("time_ms", "container", "resource", "request", "unit")
    assert found.rows("container_resource", *columns) == [
        (700_000, "7/0", "cpu", 0.5, "fraction"),
        (702_000, "7/1", "cpu", 0.125, "fraction"),
    ]
    assert found.tables["container"].height == 2


def test_lives_go_over_the_ends_of_parts(tmp_path: Path) -> None:
    one = _written(tmp_path, _event(700 * SECOND, 0), name="part-00000-of-00002.csv")
    two = _written(tmp_path, _event(800 * SECOND, 4), name="part-00001-of-00002.csv")
    beside = {"tasks": (opened(two), opened(one))}
    assert read(NAME, one, beside).rows("container", "time_ms", "departure_ms") == [
        (700_000, 800_000)
    ]
    assert "container" not in read(NAME, two, beside).tables


def test_a_part_that_is_not_among_those_beside_is_alone(tmp_path: Path) -> None:
    one = _written(tmp_path, _event(700 * SECOND, 0), name="part-00000-of-00002.csv")
    other = _written(tmp_path, _event(800 * SECOND, 4), name="all.tar")
    assert read(NAME, one, {"tasks": (opened(other),)}).rows("container", "departure_ms") == [
        (None,)
    ]


BROKEN = [
    (_event(SECOND, 0, task="7,"), "task", "is empty, expected a whole number"),
    (_event(SECOND, 0, task="nan,0"), "job", "is 'nan', expected a whole number"),
    (_event(SECOND, 0, rest="nan,,,0"), "cpu", "is 'nan', expected a number"),
    (_event(SECOND, 9), "event", "is '9.0', expected a code from 0 to 8"),
    ("x" + _event(SECOND, 0), "time", "is 'x1000000', expected a number"),
    (_event(SECOND, 0, rest="much,,,0"), "cpu", "is 'much', expected a number"),
    ("1,2", None, "has 2 fields, expected 13"),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
@pytest.mark.parametrize("before", [0, 2, 5])
def test_broken_events_wherever_they_stand(
    tmp_path: Path, line: str, column: str | None, reason: str, before: int
) -> None:
    good = [_event(700 * SECOND, 0, task=f"1,{one}") for one in range(5)]
    found = _tasks(tmp_path, *good[:before], line, *good[before:])
    assert found.reasons == [(before + 1, column, reason)]
    assert found.tables["container"].height == 5


def test_what_lies_behind_the_trace_is_left_out(tmp_path: Path) -> None:
    found = _tasks(tmp_path, _event(700 * SECOND, 0), _event(LATE, 4))
    assert found.rows("container", "time_ms", "departure_ms") == [(700_000, None)]


def test_machines_come_change_and_go_with_labels(tmp_path: Path) -> None:
    machines = _written(
        tmp_path,
        f"0,5,0,{HASH},0.5,0.25",
        f"{700 * SECOND},5,1,{HASH},0.5,0.25",
        f"{800 * SECOND},5,0,{HASH},0.5,0.5",
        f"{800 * SECOND},6,0,{HASH},1,",
    )
    attributes = _written(
        tmp_path,
        f"0,5,{HASH},1,0",
        f"0,5,{OTHER},a,0",
        f"{750 * SECOND},5,{HASH},2,0",
        f"{760 * SECOND},5,{OTHER},,1",
        name="attributes/part-00000-of-00001.csv",
    )
    found = read(NAME, machines, {"attributes": (opened(attributes),)})
    shown = found.rows("node", "time_ms", "node", "state", "platform", "labels")
    assert [(*one[:4], one[4] and json.loads(str(one[4]))) for one in shown] == [
        (600_000, "5", "ready", HASH, {HASH: "1", OTHER: "a"}),
        (700_000, "5", "gone", HASH, {HASH: "1", OTHER: "a"}),
        (800_000, "5", "ready", HASH, {HASH: "2"}),
        (800_000, "6", "ready", HASH, None),
    ]
    assert found.rows("node_resource", "time_ms", "node", "resource", "amount", "unit") == [
        (600_000, "5", "cpu", 0.5, "fraction"),
        (600_000, "5", "memory", 0.25, "fraction"),
        (800_000, "5", "cpu", 0.5, "fraction"),
        (800_000, "5", "memory", 0.5, "fraction"),
        (800_000, "6", "cpu", 1.0, "fraction"),
    ]


def test_attributes_want_their_machines(tmp_path: Path) -> None:
    path = _written(tmp_path, *[f"0,5,{HASH},1,0"] * 5, "0,5,1,1")
    with pytest.raises(TracekitError, match="machine_attributes without machine_events"):
        read(NAME, path)
    found = read(NAME, path, {"machines": (opened(path),)})
    assert found.reasons == [(6, None, "has 4 fields, expected 5")]
    assert found.tables == {}


def test_usage(tmp_path: Path) -> None:
    rest = "0.1,0.2,9,9,9,9,0.3,0.4,9,9,9,9,0,1,9"
    found = read(NAME, _written(tmp_path, f"{600 * SECOND},{900 * SECOND},7,0,41,{rest}"))
    assert found.rows("container_amount", "time_ms", "container", "resource", "amount") == [
        (600_000, "7/0", "cpu", 0.1),
        (600_000, "7/0", "memory", 0.2),
        (600_000, "7/0", "disk", 0.4),
        (600_000, "7/0", "disk_io", 0.3),
    ]
    assert set(found.tables["container_amount"]["unit"]) == {"fraction"}


@pytest.mark.parametrize(
    ("ids", "column", "reason"),
    [
        (
            "900000000,600000000,7,0",
            "end",
            "is '600000000.0', expected an end no earlier than the start",
        ),
        ("nan,900000000,7,0", "time", "is 'nan', expected a number"),
        ("600000000,900000000,x,0", "job", "is 'x', expected a whole number"),
    ],
)
def test_a_broken_sample_is_told_and_the_others_are_kept(
    tmp_path: Path, ids: str, column: str, reason: str
) -> None:
    rest = ",41," + ",".join(["0.5"] * 15)
    whole = f"{600 * SECOND},{900 * SECOND},7,0{rest}"
    same = f"{600 * SECOND},{600 * SECOND},8,0{rest}"
    found = read(NAME, _written(tmp_path, whole, f"{ids}{rest}", same))
    assert found.reasons == [(2, column, reason)]
    assert set(found.tables["container_amount"]["container"]) == {"7/0", "8/0"}


@pytest.mark.parametrize(
    "lines",
    [
        # names of columns, two of five, and a half
        (f"time,machine,event,{HASH.replace('=', '')},cpu,memory", f"0,5,0,{HASH},0.5,0.25"),
        ("time,end,job,task,machine" + ",x" * 15, *["1,2,3,4,5" + ",0.5" * 15] * 9),
        (*["0,5,0,,1,1"] * 2, *["0,5,9,,1,1"] * 3),
        (*["0,5,0,,1,1"] * 3, *["0,5,9,,1,1"] * 3),
    ],
)
def test_lines_of_which_no_more_than_half_fit_are_nobodys(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    assert recognised(_written(tmp_path, *lines)) == []


def test_parts_come_into_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "google11"
    for table, part, line in (
        ("machine_events", 0, f"0,41,0,{HASH},0.5,0.25"),
        ("machine_attributes", 0, f"0,41,{HASH},1,0"),
        ("task_events", 0, _event(700 * SECOND, 1, machine="41")),
        ("task_events", 1, _event(800 * SECOND, 4, machine="41")),
    ):
        _written(folder / table, line, name=f"part-0000{part}-of-00002.csv")
    sql = """
        SELECT container.time_ms, departure_ms, node, node.labels
        FROM container JOIN node USING (node)
    """
    assert stored(folder, tmp_path, sql) == [(700_000, 800_000, "41", json.dumps({HASH: "1"}))]


def test_the_real_heads() -> None:
    folder = shared_data(NAME)
    machines = read(NAME, folder / "machine_events.sample.csv").tables["node_resource"]
    memory = machines.filter(resource="memory")["amount"].value_counts()
    assert dict(memory.iter_rows()) == {0.4995: 1291, 0.2493: 215, 0.1241: 17}
    assert set(machines.filter(resource="cpu")["amount"]) == {0.5}
    tasks = read(NAME, folder / "task_events.sample.csv")
    containers = tasks.tables["container"]
    assert containers.height == 1015
    assert containers["node"].drop_nulls().len() == 950
    assert tasks.tables["container_resource"].filter(resource="cpu").height == 936
    usage = read(NAME, folder / "task_usage.sample.csv").tables["container_amount"]
    assert usage.filter(resource="cpu").height == 677
    assert set(usage["container"]) <= set(containers["container"])
    assert read(NAME, folder / "job_events.sample.csv").broken == []


def test_the_real_attributes_are_labels_of_the_real_machines() -> None:
    folder = shared_data(NAME)
    attributes = opened(folder / "machine_attributes.sample.csv")
    nodes = read(NAME, folder / "machine_events.sample.csv", {"attributes": (attributes,)})
    labels = nodes.tables["node"]["labels"].drop_nulls()
    assert sum(len(json.loads(one)) for one in labels) == 1665


def test_machines_in_percent_are_refused_with_the_likely_unit(tmp_path: Path) -> None:
    lines = [f"0,{at},0,{HASH},{50 * (1 + at % 2)},0.25" for at in range(5, 9)]
    source = _written(tmp_path / "trace", *lines)
    with pytest.raises(TracekitError, match=r"cpu is a fraction, 0\.\.1, but 4 of 4") as told:
        stored(source.parent, tmp_path, "SELECT 1")
    assert told.value.hint == "it looks like percent; nothing of the file was taken in"
