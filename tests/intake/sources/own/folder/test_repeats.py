"""Rows that state otherwise what an earlier one stated: rejects with what differs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reading_support import read, written

from tracekit.intake.sources.own._folder.repeats import Repeats

NODES = "node,cpu_milli,memory_bytes\nn1,8000,34359738368\nn2,8000,34359738368\n"
CONTAINERS = (
    "container,node,arrival_ms,cpu_milli,memory_bytes\n"
    "a,n1,0,1000,1073741824\nb,n2,0,1000,1073741824\n"
)
USAGE = "container,time_ms,cpu_milli\na,0,300\nb,0,300\n"
PRICES = "node,price_per_hour,zone\nn1,0.5,x\nn2,0.5,x\n"


@pytest.mark.parametrize(
    ("name", "start", "more", "reason"),
    [
        (
            "nodes",
            NODES,
            "n1,16000,34359738368",
            "states node n1 again, with cpu_milli 16000; the first (line 2), 8000, is kept",
        ),
        (
            "containers",
            CONTAINERS,
            "a,n2,0,2000,1073741824",
            (
                "states container a again, with node n2, cpu_milli 2000;"
                " the first (line 2), n1, 1000, is kept"
            ),
        ),
        (
            "containers",
            CONTAINERS,
            "b,n1,5,2000,2073741824",
            (
                "states container b again, with node n1, arrival_ms 5, cpu_milli 2000 and 1 more;"
                " the first (line 3), n2, 0, 1000, is kept"
            ),
        ),
        (
            "usage",
            USAGE,
            "b,0,999",
            (
                "states container b, time_ms 0, again, with cpu_milli 999;"
                " the first (line 3), 300, is kept"
            ),
        ),
        (
            "node",
            PRICES,
            "n2,0.5,y",
            "states node n2 again, with zone y; the first (line 3), x, is kept",
        ),
    ],
)
def test_what_is_stated_otherwise_is_a_reject(
    tmp_path: Path, name: str, start: str, more: str, reason: str
) -> None:
    """So is the same once more; an equal row of the first is none."""
    equal = start.splitlines()[1]
    path = written(tmp_path, f"{name}.csv", f"{start}{more}\n{more}\n{equal}\n")
    got = read("folder", path)
    assert [(one.line, one.reason, one.text) for one in got.broken] == [
        (4, reason, more),
        (5, reason, more),
    ]
    kept = next(iter(got.tables.values()))
    assert kept["line"].unique().sort().to_list() == [2, 3, 6]


def test_a_reject_is_no_first_row(tmp_path: Path) -> None:
    path = written(tmp_path, "usage.csv", "container,time_ms,cpu_milli\na,0,-5\na,0,300\na,0,9\n")
    got = read("folder", path)
    assert got.rows("container_amount", "container", "amount") == [("a", 0.3)]
    assert [one.line for one in got.broken] == [2, 4]


@pytest.mark.parametrize("more", ["n1,8000.0,34359738368", "n1,,34359738368"])
def test_the_same_in_other_digits_or_less_is_no_reject(tmp_path: Path, more: str) -> None:
    assert not read("folder", written(tmp_path, "nodes.csv", f"{NODES}{more}\n")).broken


@pytest.mark.parametrize(
    ("everywhere", "lines"), [(True, [(4, "n1"), (6, "n3")]), (False, [(6, "n3")])]
)
def test_blocks_are_held_against_earlier_ones(
    everywhere: bool, lines: list[tuple[int, str]]
) -> None:
    blocks = [
        pl.DataFrame({"line": [1, 2], "node": ["n1", None], "cpu_milli": ["8", "8"]}),
        pl.DataFrame({"line": [3, 4], "node": ["n1", "n1"], "cpu_milli": ["8", "8"]}),
        pl.DataFrame({"line": [5, 6], "node": ["n3", "n3"], "cpu_milli": ["8", "9"]}),
    ]
    blocks[1] = blocks[1].with_columns(pl.Series("cpu_milli", ["8", "9"]))
    if not everywhere:
        blocks[1] = blocks[1].filter(pl.col("line") == 4)
    repeats = Repeats("node", ("node", "time_ms"), everywhere=everywhere)
    found = [repeats.apart(block)[1] for block in blocks]
    assert [(one.line, one.text.partition(",")[0]) for some in found for one in some] == lines
    if everywhere:
        whole = Repeats("node", ("node",))
        whole.apart(blocks[0])
        (told,) = whole.apart(blocks[1].filter(pl.col("line") == 4))[1]
        assert told.reason == "states node n1 again, otherwise; the first (line 1) is kept"
