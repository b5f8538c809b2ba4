"""A value in Parquet has the fate that its text has in a CSV."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reading_support import rows_of
from tests_support import NODE_HEADER, csv_text, hex_id

from tracekit.base.errors import TracekitError
from tracekit.intake.read.discover import discover
from tracekit.intake.read.table_file import open_coded

NODE = hex_id("node", 0)
COLUMNS = {"timestamp": "time_ms", "nodeid": "node", "node_cpu_usage": "cpu_fraction"}
DICTIONARY = pa.dictionary(pa.int8(), pa.string())


def read(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The clean rows and the rejects of the trace file."""
    (file,) = discover(path).files
    return rows_of(open_coded(file))[:2]


def with_values(folder: Path, column: str, values: pa.Array) -> Path:
    """A Node table as Parquet, good but for the values of one column."""
    rows = len(values)
    table = {
        "timestamp": pa.array(np.arange(rows) * 30000),
        "nodeid": pa.array([NODE] * rows),
        "node_cpu_usage": pa.array([0.5] * rows),
        "node_memory_usage": pa.array([0.5] * rows),
        column: values,
    }
    path = folder / "Node_0.parquet"
    pq.write_table(pa.table(table), path)
    return path


#: Column, values and their type, and what each is in the store: None for a row that is rejected.
TAKEN: list[tuple[str, list[Any], pa.DataType, list[Any]]] = [
    ("timestamp", [5, 0, -1, None], pa.int32(), [5, 0, None, None]),
    ("timestamp", [5, 2**63], pa.uint64(), [5, None]),
    (
        "timestamp",
        [1.5, 2.0, float("nan"), float("inf"), 1e19],
        pa.float64(),
        [None, 2] + 3 * [None],
    ),
    ("timestamp", [5, 60], pa.timestamp("s"), [5000, 60000]),
    ("timestamp", [5000, 1], pa.timestamp("ms"), [5000, 1]),
    ("timestamp", [5_000_000, 5_000_001, None], pa.timestamp("us"), [5000, None, None]),
    ("timestamp", [5 * 10**9, 5 * 10**9 + 1], pa.timestamp("ns"), [5000, None]),
    ("timestamp", [5_000_000, 7], pa.timestamp("us", "Asia/Shanghai"), [5000, None]),
    ("timestamp", [5000, 1], pa.timestamp("ms", "Nowhere/Bad"), [5000, 1]),
    ("timestamp", ["5", "5.0", "5.5", "x", ""], pa.string(), [5, 5, None, None, None]),
    ("timestamp", ["5", "5.5"], pa.large_string(), [5, None]),
    ("timestamp", ["5", "5.5", None], DICTIONARY, [5, None, None]),
    ("timestamp", [decimal.Decimal("5.0"), decimal.Decimal("5.5")], pa.decimal128(9, 1), [5, None]),
    ("timestamp", [None], pa.null(), [None]),
    ("node_cpu_usage", [1, 0, -1], pa.int8(), [1.0, 0.0, None]),
    ("node_cpu_usage", [0.5, float("nan"), float("-inf")], pa.float32(), [0.5, None, None]),
    ("node_cpu_usage", ["0.5", "abc", "", None], pa.large_string(), [0.5, None, None, None]),
    ("node_cpu_usage", [decimal.Decimal("0.25")], pa.decimal128(9, 2), [0.25]),
    ("nodeid", [7, None], pa.int64(), ["7", None]),
    ("nodeid", ["a", "", None], pa.large_string(), ["a", None, None]),
    ("nodeid", ["a", None], DICTIONARY, ["a", None]),
]


@pytest.mark.parametrize(("column", "values", "kind", "wanted"), TAKEN, ids=lambda v: str(v)[:40])
def test_what_a_value_becomes(
    tmp_path: Path, column: str, values: list[Any], kind: pa.DataType, wanted: list[Any]
) -> None:
    path = with_values(tmp_path, column, pa.array(values, kind))
    clean, rejects = read(path)
    value_of_line = dict(zip(clean["line"], clean[COLUMNS[column]], strict=True))
    assert [value_of_line.get(line) for line in range(1, len(values) + 1)] == wanted
    assert sorted(rejects["line"]) == [at for at, one in enumerate(wanted, 1) if one is None]
    assert set(rejects["column"]) <= {COLUMNS[column]}
    assert all(rejects["reason"])


DATE = pa.array([1], pa.date32())
REFUSED: list[tuple[str, pa.Array]] = [
    *((column, pa.array([True])) for column in COLUMNS),
    *((column, pa.array([b"5"])) for column in COLUMNS),
    *((column, pa.array([[5]])) for column in COLUMNS),
    *((column, pa.array([{"x": 5}])) for column in COLUMNS),
    *((column, DATE) for column in COLUMNS),
    *((column, pa.array([5], pa.duration("ms"))) for column in COLUMNS),
    *((column, pa.array([5], pa.time32("ms"))) for column in COLUMNS),
    ("node_cpu_usage", pa.array([5], pa.timestamp("ms"))),
    ("nodeid", pa.array([5000], pa.timestamp("ns"))),
    ("node_cpu_usage", pa.array([decimal.Decimal(5)], pa.decimal256(50, 1))),
    ("node_cpu_usage", pa.array([np.float16(5)], pa.float16())),
    ("node_cpu_usage", pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))),
]


@pytest.mark.parametrize(("column", "values"), REFUSED, ids=lambda v: str(getattr(v, "type", v)))
def test_a_type_that_no_text_stands_for_is_refused(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    path = with_values(tmp_path, column, values)
    with pytest.raises(TracekitError):
        read(path)


NUMBERS = st.one_of(
    st.text("0123456789.eE+-", max_size=7),
    st.text("0123456789.eE+-_ xinfatyNAIy\u0663", max_size=5),
    st.floats().map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["nan", "NaN", "inf", "-inf", "Infinity", "1e400", "0x10", "1_0", " 1", "1 "]),
)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["timestamp", "node_cpu_usage"])
@settings(max_examples=60)
@given(texts=st.lists(NUMBERS, min_size=1, max_size=20))
@example(texts=["+5", "5.", ".5", "-0", "1e3", "1E3", "00012", "9223372036854775808", "-", "e5"])
def test_text_in_parquet_is_taken_as_in_csv(
    tmp_path_factory: pytest.TempPathFactory, column: str, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("same")
    path = with_values(folder, column, pa.array(texts))
    lines = [
        f"{text},{NODE},0.5,0.5" if column == "timestamp" else f"{at * 30000},{NODE},{text},0.5"
        for at, text in enumerate(texts)
    ]
    (folder / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    clean, rejects = read(path)
    wanted, refused = read(folder / "Node_0.csv")
    assert clean.drop("line").equals(wanted.drop("line"))
    assert rejects["reason"].to_list() == refused["reason"].to_list()


@settings(max_examples=30)
@given(times=st.lists(st.integers(-(2**40), 2**40) | st.floats(-1e6, 1e6), min_size=1))
def test_float_times_are_taken_as_their_text(
    tmp_path_factory: pytest.TempPathFactory, times: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("same")
    floats = [float(time) for time in times]
    (folder / "Node_0.csv").write_text(
        csv_text(NODE_HEADER, [f"{time!r},{NODE},0.5,0.5" for time in floats])
    )
    clean, rejects = read(with_values(folder, "timestamp", pa.array(floats)))
    wanted, refused = read(folder / "Node_0.csv")
    assert clean.drop("line").equals(wanted.drop("line"))
    assert rejects["reason"].to_list() == refused["reason"].to_list()


def broken_texts(values: list[bytes | None]) -> pa.Array:
    """Strings with bytes that are no text, as a damaged page has them; nobody checked them."""
    stored = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(values), stored.buffers(), stored.null_count)


@pytest.mark.parametrize(("column", "good"), [("nodeid", NODE), ("node_cpu_usage", "0.5")])
def test_text_in_another_encoding(tmp_path: Path, column: str, good: str) -> None:
    values = [good.encode(), b"caf\xe9", None, good.encode()[:2] + b"\xff"]
    clean, rejects = read(with_values(tmp_path, column, broken_texts(values)))
    assert clean["time_ms"].to_list() == [0]
    line, reason = min(rejects.select("line", "reason").rows())
    assert line == 2
    assert "UTF-8" in reason
    assert "caf\ufffd" in rejects.filter(line=2)["text"][0]
    assert sorted(rejects["line"]) == [2, 3, 4]


def test_a_column_name_in_another_encoding(tmp_path: Path) -> None:
    path = with_values(tmp_path, "note_of_mine", pa.array([1]))
    path.write_bytes(path.read_bytes().replace(b"note_of_mine", b"note\xff_of_mine"[:12]))
    with pytest.raises(TracekitError):
        discover(path)
