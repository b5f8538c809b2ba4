"""What nodes are at the start, from files with times and from one without."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.store.node_states import absences, nodes_of, resized, retainted

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
    found, capacity = nodes_of(nodes, sizes)
    columns = ("node", "state", "labels", "price_per_hour")
    assert found.select(columns).rows() == [
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
    found, capacity = nodes_of(nodes, sizes, NOW + 25)
    assert found.select("node", "state").rows() == [
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
    found = pl.DataFrame(rows, schema=["time_ms", "node", "state"], orient="row")
    return found.with_columns(position=pl.col("node").str.slice(1).cast(pl.Int64))


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
