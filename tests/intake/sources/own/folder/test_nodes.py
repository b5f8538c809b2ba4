"""Which rows of a folder's nodes stay, and what becomes of containers on nodes that do not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reading_support import opened, read, written

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

CONTAINERS = """\
container,arrival_ms,cpu_milli,memory_bytes,node
a,0,1000,1073741824,n1
b,0,1000,1073741824,n2
"""


@pytest.mark.parametrize("value", ["-1", "free", "nan"])
@pytest.mark.parametrize(
    ("name", "header", "text"),
    [
        ("nodes", "node,cpu_milli,memory_bytes,price_per_hour", "{},8000,17179869184,{}"),
        ("node", "node,price_per_hour", "{},{}"),
    ],
)
def test_a_wrong_price_is_a_reject_and_the_node_stays(
    tmp_path: Path, name: str, header: str, text: str, value: str
) -> None:
    row = text.format("n1", value)
    path = written(tmp_path, f"{name}.csv", f"{header}\n{row}\n{text.format('n2', '0.5')}\n")
    got = read("folder", path)
    prices = got.tables["node"].select(
        "node", pl.col("price_per_hour").cast(pl.Float64), pl.col("time_ms").cast(pl.Int64)
    )
    assert prices.rows() == [("n1", None, 0), ("n2", 0.5, 0)]
    (reject,) = got.broken
    assert (reject.table, reject.line, reject.column) == ("node", 2, "price_per_hour")
    assert reject.reason == (
        f"is '{value}', expected a number, 0 or more; the row is kept without it"
    )
    assert reject.text == row


def test_a_wrong_price_takes_no_capacity_and_no_container(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    written(
        tmp_path / "own",
        "nodes.csv",
        "node,cpu_milli,memory_bytes,price_per_hour\n"
        "n1,8000,17179869184,-1\nn2,8000,17179869184,0.5\n",
    )
    written(tmp_path / "own", "containers.csv", CONTAINERS)
    ingest(tmp_path / "own", tmp_path / "store")
    with Database(open_store(tmp_path / "store")) as database:
        assert database.frame("SELECT DISTINCT node FROM node_resource").height == 2
        assert database.frame("SELECT node FROM container ORDER BY 1").rows() == [("n1",), ("n2",)]
        rejects = database.frame("SELECT source_file, line FROM reject").rows()
    assert rejects == [("nodes.csv", 2)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "nodes.csv",
            "node,cpu_milli,memory_bytes,taints\nn1,8000,17179869184,none\nn2,8000,17179869184,\n",
        ),
        (
            "nodes.csv",
            "node,cpu_milli,memory_bytes,time_ms\nn1,8000,1717986918,soon\nn2,8000,1717986918,0\n",
        ),
        ("node.csv", "node,taints\nn1,none\nn2,\n"),
        (
            "node_resource.csv",
            "node,resource,amount,unit\nn1,cpu,-1,cores\nn2,cpu,8,cores\n",
        ),
    ],
)
def test_a_container_on_a_node_that_was_rejected_is_one_on_an_unknown_node(
    tmp_path: Path, name: str, text: str
) -> None:
    nodes = written(tmp_path, name, text)
    containers = written(tmp_path, "containers.csv", CONTAINERS)
    got = read("folder", containers, {name.removesuffix(".csv"): (opened(nodes),)})
    assert got.rows("container", "container") == [("b",)]
    assert got.rows("container_resource", "container") == [("b",), ("b",)]
    assert got.reasons == [(2, "node", "is 'n1', expected a node of the files beside")]


def test_use_of_a_node_that_was_rejected_is_a_reject(tmp_path: Path) -> None:
    nodes = written(
        tmp_path,
        "nodes.csv",
        "node,cpu_milli,memory_bytes,taints\nn1,8000,17179869184,none\nn2,8000,17179869184,\n",
    )
    path = written(tmp_path, "background.csv", "node,time_ms,cpu_milli\nn1,0,5\nn2,0,5\n")
    got = read("folder", path, {"nodes": (opened(nodes),)})
    assert got.rows("node_amount", "node") == [("n2",)]
    assert got.reasons == [(2, "node", "is 'n1', expected a node of the files beside")]


def test_use_as_fractions_has_the_node_of_its_container(tmp_path: Path) -> None:
    """Of a container on an unknown node it has none; what the row itself says stays."""
    nodes = written(tmp_path, "nodes.csv", "node,cpu_milli,memory_bytes\nn1,8000,17179869184\n")
    listed = written(tmp_path, "containers.csv", CONTAINERS)
    rows = "0,s,a,,0.5,0.5\n0,s,a,n9,0.5,0.5\n0,s,b,,0.5,0.5\n0,s,c,,0.5,0.5\n"
    header = "time_ms,service,container,node,cpu_fraction,memory_fraction\n"
    path = written(tmp_path, "container_usage.csv", f"{header}{rows}")
    got = read("folder", path, {"nodes": (opened(nodes),), "containers": (opened(listed),)})
    assert got.rows("container_usage", "container", "node") == [
        ("a", "n1"),
        ("a", "n9"),
        ("b", None),
        ("c", None),
    ]
