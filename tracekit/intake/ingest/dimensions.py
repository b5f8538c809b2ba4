"""Integer keys for the ids of a trace; the key of an id never changes.

A dimension holds the ids of one entity, which may be many millions. It is read one row group at a
time; of most row groups only the hashes are read. New ids go to a new file: no file is written
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.arrays import Int32Array, UInt64Array
from tracekit.store.broken_rows import ROW_GROUP_ROWS, arrow_array, arrow_strings
from tracekit.store.folder import Manifest, dimension_paths

SCHEMA = pa.schema([("key", pa.int32()), ("id", pa.string()), ("hash", pa.uint64())])
#: The number of leading bits of a hash that select ids to compare; the table has 4 MiB.
_BITS = 22


@dataclass(frozen=True)
class Dimension:
    """The ids of one entity, such as node, in a store, in the order of their integer keys.

    Attributes
    ----------
    parts : Parquet files, one for each source file that brought new ids
    count : the number of ids in them
    """

    parts: tuple[Path, ...] = ()
    count: int = 0

    def moved(self, part: Path, place: Path) -> Dimension:
        """Return the dimension after the file ``part`` was moved to ``place``."""
        return replace(self, parts=tuple(place if one == part else one for one in self.parts))

    def groups(self) -> Iterator[_Group]:
        """Yield the row groups of all parts, in the order of keys."""
        for part in self.parts:
            with pq.ParquetFile(part) as file:
                for number in range(file.num_row_groups):
                    yield _Group(file, number)


@dataclass(frozen=True)
class _Group:
    """A row group of a dimension; its columns are read when they are needed."""

    file: pq.ParquetFile
    number: int

    def read(self, *columns: str) -> pl.DataFrame:
        rows = pl.from_arrow(self.file.read_row_group(self.number, columns=list(columns)))
        assert isinstance(rows, pl.DataFrame)  # noqa: S101 - narrows what from_arrow may give
        return rows


def committed(folder: Path, entity: str, manifest: Manifest) -> Dimension:
    """Return the ids of an entity in a store, as many as the manifest counts."""
    count = manifest.dimensions.get(entity, 0)
    return Dimension(tuple(dimension_paths(folder, entity, count)), count)


def extend(dimension: Dimension, seen: pl.Series, aside: Path) -> tuple[Dimension, Int32Array]:
    """Give the ids of a file their keys in the store; new ids get the next keys, in text order.

    Parameters
    ----------
    seen : the ids of a file, each once, in the order of the file's keys
    aside : the path to which new ids are written, if there are any

    Returns
    -------
    The dimension with the new ids, and the store's key of each id of ``seen``, int32, (ids,).
    """
    hashes = hashed(seen)
    keys = _stored_keys(dimension, seen, hashes)
    places = np.flatnonzero(keys < 0)
    if not places.size:
        return dimension, keys
    fresh = pl.DataFrame({"at": places, "id": seen.gather(places)}).sort("id")
    at, count = fresh["at"].to_numpy(), dimension.count + places.size
    keys[at] = np.arange(dimension.count, count, dtype=np.int32)
    write_part(aside, keys[at], fresh["id"], hashes[at])
    return Dimension((*dimension.parts, aside), count), keys


def hashed(ids: pl.Series) -> UInt64Array:
    """Return a hash of the text of each id, uint64, shape (ids,)."""
    digests = b"".join(blake2b(one.encode(), digest_size=8).digest() for one in ids)
    return np.frombuffer(digests, dtype="<u8")


def _stored_keys(dimension: Dimension, seen: pl.Series, hashes: UInt64Array) -> Int32Array:
    """The key of each id in the dimension, -1 for a new id, shape (ids,)."""
    keys = np.full(seen.len(), -1, dtype=np.int32)
    wanted = pl.DataFrame({"hash": hashes, "at": pl.int_range(seen.len(), eager=True)})
    maybe = np.zeros(1 << _BITS, dtype=np.bool_)
    shift = np.uint64(64 - _BITS)
    maybe[hashes >> shift] = True
    for group in dimension.groups():
        stored = group.read("hash")["hash"].to_numpy()
        rows = np.flatnonzero(maybe[stored >> shift])
        alike = pl.DataFrame({"hash": stored[rows], "row": rows}).join(wanted, on="hash")
        if alike.height:
            ids = group.read("key", "id")[alike["row"].to_numpy()]
            # equal hashes only select ids to compare: an id has a key if its whole text is equal
            same = (ids["id"] == seen.gather(alike["at"])).to_numpy()
            keys[alike["at"].to_numpy()[same]] = ids["key"].to_numpy()[same]
    return keys


def write_part(path: Path, keys: Int32Array, ids: pl.Series, hashes: UInt64Array) -> None:
    """Write ids, their keys and their hashes to a Parquet file; all have the shape (ids,)."""
    rows = pa.Table.from_arrays(
        [arrow_array(keys), arrow_strings(ids), arrow_array(hashes)], schema=SCHEMA
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # no compression makes hashes smaller
    compression = {"key": "zstd", "id": "zstd", "hash": "none"}
    pq.write_table(
        rows, path, row_group_size=ROW_GROUP_ROWS, compression=compression, use_dictionary=False
    )
