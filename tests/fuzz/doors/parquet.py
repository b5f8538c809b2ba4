"""Parquet tables with columns of every type, and Parquet files whose bytes are damaged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_bytes
from tests_support import hex_id

from doors._ingest import ingest_verdict

_ROWS = 40
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
        if rng.random() < 0.4:
            path.write_bytes(mutated_bytes((start / path.name).read_bytes(), rng))
        else:
            columns = _whole()
            for _ in range(int(rng.integers(1, 4))):
                columns[any_of(rng, list(columns))] = any_of(rng, _TYPES)(rng)
            pq.write_table(pa.table(columns), path)
        return Case(arguments=("ingest", path.name, "store", "--jobs", "1"))

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """The rows that went in add up; every row of a file that is in was read."""
        return ingest_verdict(case, done, folder / "store")


def _whole() -> dict[str, Any]:
    return {
        "timestamp": pa.array([at // 4 * 30000 for at in range(_ROWS)]),
        "nodeid": pa.array([hex_id("node", at % 4) for at in range(_ROWS)]),
        "node_cpu_usage": pa.array([0.5] * _ROWS),
        "node_memory_usage": pa.array([0.25] * _ROWS),
    }


DOOR = Parquet()
