"""Integer keys for the trace's 64-digit ids; a key, once given, never changes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.store.folder import dimension_path
from tracekit.store.manifest import Manifest

SCHEMA = pa.schema([("key", pa.int32()), ("id", pa.string())])


class LocalKeys:
    """Keys of one entity within one source file, handed out as ids are first seen."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # polars forgets the codes of a category set when no column of it is alive: keep one
        self._alive = pl.Series([""]).cast(self._type)
        self._known: list[pl.DataFrame] = []
        self._next = self._alive.len()

    def encode(self, ids: pl.Series) -> pl.Series:
        """The ids as int32 local keys; NULL stays NULL."""
        keys = ids.cast(self._type).to_physical().cast(pl.Int32).rename("local")
        fresh = keys >= self._next
        if fresh.any():
            pairs = pl.DataFrame({"local": keys.filter(fresh), "id": ids.filter(fresh)})
            self._known.append(pairs.unique("local", keep="any"))
            self._next = int(pairs["local"].max()) + 1  # type: ignore[arg-type]
        return keys

    def ids(self) -> pl.DataFrame:
        """Every id seen, with its local key."""
        empty = pl.DataFrame(schema={"local": pl.Int32, "id": pl.String})
        return pl.concat([empty, *self._known])


def read_dimension(folder: Path, entity: str, manifest: Manifest) -> pl.DataFrame:
    """An entity's committed ids: ``key`` int32, ``id`` text."""
    path = folder / dimension_path(entity)
    committed = manifest.dimensions.get(entity, 0)
    if not committed:
        return pl.DataFrame(schema={"key": pl.Int32, "id": pl.String})
    return pl.read_parquet(path).head(committed)


def extend(dimension: pl.DataFrame, seen: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Give new ids the next keys, in the order of their text so that any reading order agrees.

    Returns the dimension with the new ids, and the key of each local one (int32, NULL where the
    local key was never handed out).
    """
    fresh = seen.join(dimension, on="id", how="anti").select("id").unique().sort("id")
    start = dimension.height
    keyed = fresh.select(pl.int_range(start, start + pl.len(), dtype=pl.Int32).alias("key"), "id")
    whole = pl.concat([dimension, keyed])
    every = pl.DataFrame({"local": pl.int_range(_count(seen), dtype=pl.Int32, eager=True)})
    mapping = seen.join(whole, on="id", how="inner").select("local", "key")
    return whole, every.join(mapping, on="local", how="left", maintain_order="left")["key"]


def _count(seen: pl.DataFrame) -> int:
    return 1 + int(seen["local"].to_numpy().max()) if seen.height else 0


def write_dimension(path: Path, dimension: pl.DataFrame) -> None:
    """Write an entity's ids; not yet in place, see ``tracekit.store.write``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(dimension.to_arrow().cast(SCHEMA), path, compression="zstd")
