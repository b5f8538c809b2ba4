"""The states and fields of nodes over time, and nodes without use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from kubernetes_support import listed, node, pod, written
from series_support import as_range, at_times
from tests_support import the

import tracekit
from tracekit.intake.ingest import ingest
from tracekit.store.node_states import (
    absences,
    nodes_of,
    repriced,
    resized,
    retainted,
)

NOW = 1_767_225_600_000


def test_a_file_without_times_adds_what_the_others_do_not_say() -> None:
    nodes = pl.DataFrame(
        {
            "time_ms": [0, 0, NOW, NOW + 1],
            "node": ["n1", "spare", "n1", "n1"],
            "position": [None, None, 1, 1],
            "state": [None, None, "ready", "closed"],
            "labels": [None, None, '{"disk": "ssd"}', None],
            "price_per_hour": [0.4, 0.2, None, None],
        }
    )
    sizes = pl.DataFrame(
        {
            "time_ms": [0, 0, NOW],
            "node": ["n1", "spare", "n1"],
            "resource": ["cpu", "cpu", "cpu"],
            "cell": [None, None, None],
            "amount": [4.0, 2.0, 8.0],
            "unit": ["cores", "cores", "cores"],
        },
        schema_overrides={"cell": pl.Int64},
    )
    result, capacity = nodes_of(nodes, sizes)
    columns = ("node", "state", "labels", "price_per_hour")
    assert result.select(columns).rows() == [
        ("n1", "ready", '{"disk": "ssd"}', 0.4),
        ("spare", None, None, 0.2),
    ]
    assert sorted(capacity.select("node", "amount").rows()) == [("n1", 8.0), ("spare", 2.0)]


def test_nodes_are_as_they_were_when_use_begins() -> None:
    """Lists of weeks, use of the last days: the state of then, and the size of the end."""
    nodes = pl.DataFrame(
        {
            "time_ms": [NOW, NOW + 10, NOW + 30, NOW + 5, NOW + 20, NOW, NOW + 40],
            "node": ["n1", "n1", "n1", "left", "left", "n0", "late"],
            "position": [1, 1, 1, 2, 2, 0, 3],
            "state": ["ready", "closed", "ready", "ready", "gone", "ready", "ready"],
        }
    )
    sizes = pl.DataFrame(
        {
            "time_ms": [NOW, NOW + 10, NOW + 30, NOW, NOW + 5, NOW + 40],
            "node": ["n1", "n1", "n1", "n0", "left", "late"],
            "resource": ["cpu"] * 6,
            "cell": [None] * 6,
            "amount": [4.0, 8.0, 16.0, 1.0, 2.0, 3.0],
            "unit": ["cores"] * 6,
        },
        schema_overrides={"cell": pl.Int64},
    )
    result, capacity = nodes_of(nodes, sizes, NOW + 25)
    assert result.select("node", "state").rows() == [
        ("n0", "ready"), ("n1", "closed"), ("late", "ready"),
    ]  # fmt: skip
    amounts = dict(capacity.select("node", "amount").rows())
    assert amounts == {"n0": 1.0, "n1": 16.0, "late": 3.0}
    early, _ = nodes_of(nodes, sizes, NOW - 1)
    assert early.equals(nodes_of(nodes, sizes)[0])


def test_taints_that_are_none_are_compared_as_they_stand() -> None:
    rows = pl.DataFrame(
        {
            "node": ["n1", "n2", "n1", "n2"],
            "time_ms": [0, 0, 1, 1],
            "state": ["ready"] * 4,
            "taints": ["none", "{}", "none", '["x"]'],
        }
    )
    assert retainted(rows.head(2), rows) == ["n2"]


def _states(*rows: tuple[int, str, str]) -> pl.DataFrame:
    """Rows of time, node and state; the position is that of the node's number."""
    frame = pl.DataFrame(rows, schema=["time_ms", "node", "state"], orient="row")
    return frame.with_columns(position=pl.col("node").str.slice(1).cast(pl.Int64))


def test_a_node_is_away_from_when_it_is_gone_until_it_is_there_again() -> None:
    rows = _states(
        (0, "n0", "ready"),
        (10, "n0", "gone"),
        (15, "n0", "gone"),
        (20, "n0", "ready"),
        (25, "n0", "closed"),
        (30, "n0", "gone"),
        (40, "n0", "ready"),
        # gone for good, and gone before anything else is said
        (5, "n1", "ready"),
        (12, "n1", "gone"),
        (0, "n2", "gone"),
        (9, "n2", "ready"),
    )
    assert absences(rows).rows() == [("n0", 10, 20), ("n0", 30, 40)]


def test_a_node_that_is_gone_at_the_start_comes_back_later() -> None:
    rows = _states((0, "n0", "ready"), (5, "n0", "gone"), (20, "n0", "ready"), (0, "n1", "ready"))
    sizes = pl.DataFrame(
        {
            "time_ms": [0, 20, 0],
            "node": ["n0", "n0", "n1"],
            "resource": ["cpu"] * 3,
            "cell": [None] * 3,
            "amount": [4.0, 4.0, 2.0],
            "unit": ["cores"] * 3,
        },
        schema_overrides={"cell": pl.Int64},
    )
    nodes, capacity = nodes_of(rows, sizes, begins_ms=10)
    assert nodes.select("node", "time_ms", "state").rows() == [
        ("n0", 20, "ready"),
        ("n1", 0, "ready"),
    ]
    assert sorted(capacity.select("node", "amount").rows()) == [("n0", 4.0), ("n1", 2.0)]


def test_nodes_whose_size_changes_are_known_and_a_restart_is_no_change() -> None:
    sizes = pl.DataFrame(
        {
            "time_ms": [0, 10, 0, 10, 0, 10],
            "node": ["n0", "n0", "n1", "n1", "n2", "n2"],
            "resource": ["cpu", "cpu", "memory", "memory", "cpu", "cpu"],
            "cell": [None] * 6,
            "amount": [4.0, 1.0, 1000.0, 999.0, 2.0, 2.0],
            "unit": ["cores"] * 6,
        },
        schema_overrides={"cell": pl.Int64},
    )
    assert resized(sizes, None) == ["n0"]
    assert resized(sizes, 10) == []


@pytest.mark.parametrize(
    ("amounts", "size"),
    [((4.0, 16.0), 16.0), ((16.0, 4.0), 4.0), ((16.0, 4.0, 0.0), 4.0), ((0.0, 0.0), 0.0)],
    ids=["larger", "smaller", "a device plugin restarts", "never any"],
)
def test_what_is_decided_is_about_the_size_that_nodes_have_at_the_end(
    amounts: tuple[float, ...], size: float
) -> None:
    sizes = pl.DataFrame(
        {
            "time_ms": [10 * at for at in range(len(amounts))],
            "node": "n0",
            "resource": "cpu",
            "cell": None,
            "amount": amounts,
            "unit": "cores",
        },
        schema_overrides={"cell": pl.Int64},
    )
    nodes = pl.DataFrame({"time_ms": [0], "node": ["n0"], "state": ["ready"], "position": [0]})
    _, capacity = nodes_of(nodes, sizes, begins_ms=0)
    assert capacity["amount"].to_list() == [size]
    assert resized(sizes, 0) == (["n0"] if len(set(amounts) - {size}) else [])


GPU = '[{"key": "gpu", "effect": "NoSchedule"}]'
Row = tuple[int, str | None, str | None, str | None, float | None]


def _nodes(rows: Sequence[Row], node: str = "n1") -> pl.DataFrame:
    """Rows of time, state, zone, taints and price of a node; times of 1 or more are since NOW."""
    schema = {"time_ms": pl.Int64, "state": pl.String, "zone": pl.String,
              "taints": pl.String, "price_per_hour": pl.Float64}  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    since = pl.when(pl.col("time_ms") > 0).then(pl.col("time_ms") + NOW).otherwise(0)
    return frame.with_columns(time_ms=since, node=pl.lit(node), position=pl.lit(0))


def _sizes(*times: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time_ms": [NOW + one if one else 0 for one in times],
            "node": "n1",
            "resource": "cpu",
            "cell": None,
            "amount": 8.0,
            "unit": "cores",
        },
        schema_overrides={"time_ms": pl.Int64, "cell": pl.Int64, "node": pl.String},
    )


@pytest.mark.parametrize(
    ("rows", "sized", "expected"),
    [
        ([(1, "ready", "a", GPU, None), (10, None, None, None, 0.4)], (1,),
         (10, "ready", "a", GPU, 0.4)),
        ([(1, "closed", "a", GPU, None), (10, None, None, None, 0.4), (30, None, None, None, 0.9)],
         (1,), (10, "closed", "a", GPU, 0.9)),
        # a row of a price says of nothing else, and not that the node is there
        ([(5, None, None, None, 0.4), (30, "ready", "a", GPU, None)], (30,),
         (30, "ready", "a", GPU, 0.4)),
        ([(0, None, None, None, 0.4), (30, "ready", "a", GPU, None)], (30,),
         (30, "ready", "a", GPU, 0.4)),
        # a node that a file without times lists is there before its price changes
        ([(0, None, "a", None, 0.4), (30, None, None, None, 0.9)], (0,), (0, None, "a", None, 0.9)),
        # two files of the same time: of what both state the first counts
        ([(0, None, None, None, 0.3), (0, None, "a", "[]", 0.4)], (0,), (0, None, "a", "[]", 0.3)),
        # nothing but prices is known
        ([(1, None, None, None, 0.4), (30, None, None, None, 0.9)], (), (1, None, None, None, 0.9)),
        # none is stated, which is not the same as nothing stated
        ([(1, "ready", "a", GPU, None), (10, "ready", None, "[]", None)], (1,),
         (10, "ready", "a", "[]", None)),
        ([(1, "gone", "a", GPU, 0.2), (10, None, None, None, 0.4), (30, "ready", None, None, None)],
         (1,), (30, "ready", "a", GPU, 0.4)),
    ],
    ids=[
        "a price", "the last price", "a price before", "a price without a time",
        "listed without times", "of two files", "prices alone",
        "no taints any more", "it comes back",
    ],
)  # fmt: skip
def test_what_a_row_does_not_state_stays(
    rows: list[Row], sized: tuple[int, ...], expected: Row
) -> None:
    since, *fields = expected
    (records,) = nodes_of(_nodes(rows), _sizes(*sized), NOW + 20)[0].to_dicts()
    assert records["time_ms"] == (NOW + since if since else 0)
    assert [records[one] for one in ("state", "zone", "taints", "price_per_hour")] == fields


@pytest.mark.parametrize(
    ("prices", "begins", "changed"),
    [
        ((0.4, 0.4), 0, []),
        ((0.4, 0.9), 0, ["n1"]),
        ((0.4, None), 0, []),
        ((0.4, 0.9, 0.4), 0, ["n1"]),
        ((0.4, 0.9), 500, []),
        ((None, 0.9), 0, []),
    ],
)
def test_nodes_whose_price_changes_while_use_is_recorded_are_known(
    prices: tuple[float | None, ...], begins: int, changed: list[str]
) -> None:
    rows: list[Row] = [(1 + 100 * at, None, None, None, one) for at, one in enumerate(prices)]
    assert repriced(_nodes(rows), NOW + begins) == changed


_GIB = 1 << 30


def _folder(tmp_path: Path, used: tuple[int, ...]) -> Path:
    """Six nodes with a container on n1 and n2, and use beside containers on some nodes."""
    mine = tmp_path / "mine"
    mine.mkdir()
    nodes = "".join(f"n{at},8000,{32 * _GIB}\n" for at in range(6))
    written(mine / "nodes.csv", f"node,cpu_milli,memory_bytes\n{nodes}")
    ran = "".join(f"c{at},web,n{at},0,1000,{_GIB}\n" for at in (1, 2))
    header = "container,service,node,arrival_ms,cpu_milli,memory_bytes\n"
    written(mine / "containers.csv", header + ran)
    beside = "".join(f"{60_000 * at},n{one},2000,{_GIB}\n" for one in used for at in range(10))
    if used:
        written(mine / "background.csv", f"time_ms,node,cpu_milli,memory_bytes\n{beside}")
    return mine


@pytest.mark.slow
def test_nodes_that_nothing_is_known_of_are_set_aside(tmp_path: Path) -> None:
    """Of n3, n4 and n5 nothing is known; n2 has a container, and no use of its own."""
    store = tmp_path / "store"
    doubts = ingest(_folder(tmp_path, (0, 1)), store).doubts
    run = tracekit.replay(store, policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 3
    for facts in (doubts, run.workload.provenance.remarks):
        silent, partly = the(facts, "node_silent"), the(facts, "node_without_use")
        assert (silent.value, silent.about["of"]) == (3, 6)
        assert (partly.value, partly.about["of"]) == (1, 3)
    study = tracekit.nodes(store, policies=["most_allocated"], out=tmp_path / "fewest")
    assert study.about["nodes"] == 3
    assert study.about["workload"]["nodes_set_aside"] == 3
    assert study.about["workload"]["nodes_without_own_use"] == 1


@pytest.mark.parametrize("used", [(), tuple(range(6))], ids=["of none", "of all"])
def test_where_the_use_of_all_or_none_is_recorded_all_count(
    tmp_path: Path, used: tuple[int, ...]
) -> None:
    assert ingest(_folder(tmp_path, used), tmp_path / "store").doubts == ()
    run = tracekit.replay(tmp_path / "store", policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 6


@pytest.mark.slow
def test_a_node_without_a_pod_is_empty_where_kubectl_listed_all_pods(tmp_path: Path) -> None:
    """The exporter runs on n0 alone; n1 has a pod, and n2 has none and can go."""
    mine = tmp_path / "mine"
    mine.mkdir()
    nodes = [node(f"n{at}") for at in range(3)]
    written(mine / "list.json", listed(*nodes, pod("web-1", nodeName="n1")))
    made = [("node_cpu_in_use", {"node": "n0"}, at_times(*[1.0] * 9)),
            ("node_memory_in_use", {"node": "n0"}, at_times(*[1e9] * 9))]  # fmt: skip
    written(mine / "nodes.json", as_range(made))
    (doubt,) = ingest(mine, tmp_path / "store").doubts
    assert (doubt.because, doubt.value, doubt.about["of"]) == ("node_without_use", 2, 3)
    run = tracekit.replay(tmp_path / "store", policies=["first_fit"], out=tmp_path / "run")
    assert run.workload.nodes.count == 3
