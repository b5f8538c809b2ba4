"""Parquet tables with columns of every type, and Parquet files whose bytes are damaged."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes
from tests_support import hex_id

from doors._ingest import Fate, ingest_verdict

_ROWS = 40
_REFUSED = "refused"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DAY = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

#: Columns of any type, by what they may stand for.
_TYPES: tuple[Callable[[Rng], Any], ...] = (
    lambda rng: pa.array(rng.integers(-5, 10**6, _ROWS), any_of(rng, (pa.int64(), pa.int32()))),
    lambda rng: pa.array(rng.integers(0, 200, _ROWS), any_of(rng, (pa.uint8(), pa.uint64()))),
    lambda rng: pa.array(rng.random(_ROWS) * 3 - 0.5, any_of(rng, (pa.float64(), pa.float32()))),
    lambda rng: pa.array([any_of(rng, (0.5, float("nan"), float("inf"), None)) for _ in range(_ROWS)]),
    lambda rng: pa.array([bool(value) for value in rng.integers(0, 2, _ROWS)]),
    lambda rng: pa.array(
        rng.integers(0, 10**6, _ROWS),
        pa.timestamp(any_of(rng, ("s", "ms", "us", "ns")), tz=any_of(rng, (None, "UTC", "Asia/Tokyo"))),
    ),
    lambda rng: pa.array([_DAY.date()] * _ROWS, any_of(rng, (pa.date32(), pa.date64()))),
    lambda rng: pa.array(rng.integers(0, 10**4, _ROWS), pa.duration(any_of(rng, ("ms", "us")))),
    lambda rng: pa.array([any_of(rng, ("", "0.5", "x", "30000", None, "\x1b[1m")) for _ in range(_ROWS)]),
    lambda rng: pa.array(["0.5", "a"] * (_ROWS // 2)).dictionary_encode(),
    lambda rng: pa.array(["30000", "b"] * (_ROWS // 2), pa.large_string()),
    lambda rng: pa.array([rng.bytes(3)] * _ROWS, any_of(rng, (pa.binary(), pa.binary(3)))),
    lambda rng: pa.array([[1, 2]] * _ROWS, any_of(rng, (pa.list_(pa.int64()), pa.list_(pa.int64(), 2)))),
    lambda rng: pa.array([{"a": 1}] * _ROWS),
    lambda rng: pa.array([Decimal("1.50")] * _ROWS),
    lambda rng: pa.nulls(_ROWS),
)  # fmt: skip


class Parquet(Door):
    """One file at a time."""

    share = 0.1

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole table."""
        pq.write_table(pa.table(_whole()), folder / "Node_0.parquet")
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """Damaged bytes, or one to three columns of another type."""
        path = folder / "Node_0.parquet"
        arguments = ("ingest", path.name, "store", "--jobs", "1")
        if rng.random() < 0.4:
            path.write_bytes(mutated_bytes((start / path.name).read_bytes(), rng))
            return Case(arguments=arguments)
        columns = _whole()
        for _ in range(int(rng.integers(1, 4))):
            columns[any_of(rng, list(columns))] = any_of(rng, _TYPES)(rng)
        pq.write_table(pa.table(columns), path)
        refused = any(map(_is_refused, columns, columns.values()))
        return Case(
            arguments=arguments, expected=_REFUSED if refused else {path.name: fate(columns)}
        )

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """The rows add up, and every row has the fate of its values; odd types are refused."""
        if case.expected == _REFUSED and done.code != 2:
            return f"a type that no text stands for was taken: exit code {done.code}"
        return ingest_verdict(case, done, folder / "store")


def _is_refused(name: str, column: Any) -> bool:
    types, kind = pa.types, column.type
    if types.is_timestamp(kind):
        return name != "timestamp"
    odd = (types.is_boolean, types.is_date, types.is_duration, types.is_nested)
    binary = types.is_binary(kind) or types.is_fixed_size_binary(kind)
    return binary or any(test(kind) for test in odd)


def fate(columns: dict[str, Any]) -> Fate:
    """What becomes of a Node table, row by row, value by value."""
    rows = zip(
        map(_time, _plain(columns["timestamp"])),
        map(_name, _plain(columns["nodeid"])),
        map(_number, _plain(columns["node_cpu_usage"])),
        map(_number, _plain(columns["node_memory_usage"])),
        strict=True,
    )
    good = [row for row in rows if None not in row]
    first: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    for time, name, cpu, memory in good:  # of rows of one node and time the first is kept
        expected = (("time_ms", time), ("cpu_fraction", cpu), ("memory_fraction", memory))
        first.setdefault((time, name), expected)
    return Fate(read=_ROWS, rejected=_ROWS - len(good), values=frozenset(first.values()))


def _plain(column: Any) -> list[Any]:
    """The values; a timestamp as an exact number of milliseconds since 1970."""
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    per_ms = {
        "s": Fraction(1, 1000),
        "ms": Fraction(1),
        "us": Fraction(1000),
        "ns": Fraction(10**6),
    }
    return [
        Fraction(tick) / per_ms[column.type.unit] for tick in column.cast(pa.int64()).to_pylist()
    ]


def _time(value: Any) -> int | None:
    number = _number(value)
    exact = value if isinstance(value, Fraction | int) else number
    if number is None or exact is None or exact != int(exact) or not 0 <= exact < 2**63:
        return None
    return int(exact)


def _number(value: Any) -> float | None:
    if value is None or (isinstance(value, str) and not _NUMBER.fullmatch(value)):
        return None
    number = float(value)
    return number if math.isfinite(number) and number >= 0 else None


def _name(value: Any) -> str | None:
    text = "" if value is None else str(value)
    return None if text in {"", "nan"} else text


def _whole() -> dict[str, Any]:
    return {
        "timestamp": pa.array([at // 4 * 30000 for at in range(_ROWS)]),
        "nodeid": pa.array([hex_id("node", at % 4) for at in range(_ROWS)]),
        "node_cpu_usage": pa.array([0.5] * _ROWS),
        "node_memory_usage": pa.array([0.25] * _ROWS),
    }


PARQUET = Parquet()
