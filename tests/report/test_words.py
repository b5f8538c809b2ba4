"""How numbers read in sentences and tables."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit import words
from tracekit.report.cells import size_text, table
from tracekit.report.contents.assumed import assumed_text
from tracekit.words import agreeing, and_more, counted, few

PERCENT = [
    (0, None, "0 %"),
    (0.00001, None, "under 0.01 %"),
    (0.0077, None, "0.77 %"),
    (0.05, None, "5.0 %"),
    (0.5, None, "50 %"),
    (1.06, None, "106 %"),
    (0.0004, 1, "under 0.1 %"),
    (-0.25, 1, "\u221225.0 %"),
]


@pytest.mark.parametrize(("fraction", "digits", "text"), PERCENT)
def test_percent(fraction: float, digits: int | None, text: str) -> None:
    assert words.percent(fraction, digits).replace(words.NBSP, " ") == text


def test_short_ids_tell_apart_what_differs() -> None:
    """Names of one cluster begin alike, and may end alike too."""
    long = [f"checkout-payment-service-{at:02d}-of-the-shop-in-europe" for at in range(30)]
    assert words.short_ids(long) == long
    nodes = [f"ip-10-0-1-{at}.eu-west-1.compute.internal" for at in range(100, 110)]
    found = words.short_ids(nodes)
    assert len(set(found)) == len(nodes)
    assert found == [words.short_id(one) for one in nodes]
    assert words.short_ids(["a", "b", "a"]) == ["a", "b", "a"]


def test_other_words() -> None:
    assert words.listed([]) == ""
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.count(1, "node").replace(words.NBSP, " ") == "1 node"
    assert words.count(1300, "node").replace(words.NBSP, " ") == "1,300 nodes"
    assert words.count(1 / 6, "container").replace(words.NBSP, " ") == "0.1667 containers"
    assert (counted(2, "policy"), counted(1, "policy")) == ("2 policies", "1 policy")
    assert counted(14, "day") == "14 days"
    waits = "[container waits|containers wait] for [its|their] node"
    assert agreeing(1, waits) == "1 container waits for its node"
    assert agreeing(1200, waits) == "1,200 containers wait for their node"
    assert words.signed(-0.001) == "0.00"
    assert words.signed(-0.62) == "\u22120.62"
    assert words.number(0.04821) == "0.0482"
    assert words.short_id("a" * 64) == "a" * 10 + "\u2026"
    assert words.short_id("kube-system/kube-proxy") == "kube-system/kube-proxy"
    addresses = [f"{a}-{b}" for a in (1, 10, 123) for b in (1, 23, 230, 231)]
    nodes = [f"ip-192-168-{one}.eu-west-1.compute.internal" for one in addresses]
    assert len({words.short_id(node) for node in nodes}) == len(nodes)
    assert max(len(words.short_id(node)) for node in nodes) == 32
    assert [words.short_hash(node) for node in nodes] == nodes


VALUES = [
    ("node_memory_bytes", 384 * 2**30, "384 GiB"),
    ("disk_bytes", 1_500_000, "1.4 MiB"),
    ("arrival_span_ms", 7_200_000, "2 h"),
    ("target_alloc_fraction", 0.75, "75 %"),
    ("request_cpu_cores", 4.0, "4 cores"),
    ("edge_steps", 10, "10 steps"),
    ("limit_factor", 1.5, "1.5"),
    ("background", "keep", "keep"),
    ("pods", True, "True"),
]


@pytest.mark.parametrize(("name", "value", "text"), VALUES)
def test_an_assumption_shows_its_unit(name: str, value: object, text: str) -> None:
    assert assumed_text(name, value).replace(words.NBSP, " ") == text


def test_cells_show_units_and_sort_by_value() -> None:
    frame = pl.DataFrame(
        {
            "node": ["f" * 64],
            "cpu_max_fraction": [0.5],
            "span_ms": [90_000],
            "rows": [1234],
            "x": [None],
        },
        schema_overrides={"x": pl.Float64},
    )
    shown = table(frame, "caption").rows[0]
    assert [cell.text.replace(words.NBSP, " ") for cell in shown] == [
        "ffffffffff\u2026",
        "50.0 %",
        "1 min 30 s",
        "1,234",
        "\u2013",
    ]
    assert [cell.sort for cell in shown] == ["f" * 64, "0.5", "90000", "1234", ""]
    assert shown[0].full == "f" * 64


def test_columns_of_a_query_are_explained_by_its_header() -> None:
    frame = pl.DataFrame({"zone": ["A"], "node_share": [0.25], "cpu_std": [0.1]})
    shown = table(frame, "Zones", query="usage/zone_summary")
    assert [column.kind for column in shown.columns] == ["text", "percent", "percent"]
    assert "Share of all nodes" in shown.columns[1].meaning


def test_sizes() -> None:
    assert size_text(0).replace(words.NBSP, " ") == "0 B"
    assert size_text(3 * 2**30).replace(words.NBSP, " ") == "3 GiB"


@pytest.mark.parametrize(
    ("names", "most", "said", "in_a_row"),
    [
        ([], 3, "", ""),
        (["a"], 3, "a", "a"),
        (["a", "b", "c"], 3, "a, b and c", "a, b, c"),
        (["a", "b", "c"], 2, "a, b and 1 more", "a, b and 1 more"),
        ([f"p{at}" for at in range(1003)], 2, "p0, p1 and 1,001 more", "p0, p1 and 1,001 more"),
    ],
)
def test_many_names_are_counted(names: list[str], most: int, said: str, in_a_row: str) -> None:
    assert few(names, most) == said
    assert and_more(names[:most], len(names)) == in_a_row
