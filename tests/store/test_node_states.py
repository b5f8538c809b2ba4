"""What nodes are at the start, from files with times and from one without."""

from __future__ import annotations

import polars as pl

from tracekit.store.node_states import nodes_of, retainted

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
    """Lists of weeks, use of the last days: the size and state of the first list counted."""
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
    assert amounts == {"n0": 1.0, "n1": 8.0, "late": 3.0}
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
