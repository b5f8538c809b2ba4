"""Integer keys for the trace's 64-digit ids; a key, once given, never changes.

A dimension may hold many millions of ids. It is only ever walked over, a row group at a time, and
of most row groups nothing but the hashes is read. New ids come behind it in a file of their own:
what is there is never written again.
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
#: So many leading bits of a hash say whether to look closer: a table of 4 MiB.
_BITS = 22


@dataclass(frozen=True)
class Dimension:
    """The ids of one entity in the order of their keys.

    Attributes
    ----------
    parts : Parquet files, one for each file of the trace that brought new ids
    count : how many ids they hold
    """

    parts: tuple[Path, ...] = ()
    count: int = 0

    def moved(self, part: Path, place: Path) -> Dimension:
        """The same with one of its parts in another place."""
        return replace(self, parts=tuple(place if one == part else one for one in self.parts))

    def groups(self) -> Iterator[_Group]:
        """The row groups, in the order of keys."""
        for part in self.parts:
            with pq.ParquetFile(part) as file:
                for number in range(file.num_row_groups):
                    yield _Group(file, number)


@dataclass(frozen=True)
class _Group:
    """A row group of a dimension, read column by column as it is needed."""

    file: pq.ParquetFile
    number: int

    def read(self, *columns: str) -> pl.DataFrame:
        rows = pl.from_arrow(self.file.read_row_group(self.number, columns=list(columns)))
        assert isinstance(rows, pl.DataFrame)  # noqa: S101 - narrows what from_arrow may give
        return rows


def committed(folder: Path, entity: str, manifest: Manifest) -> Dimension:
    """An entity's ids as the manifest counts them."""
    count = manifest.dimensions.get(entity, 0)
    return Dimension(tuple(dimension_paths(folder, entity, count)), count)


def extend(dimension: Dimension, seen: pl.Series, aside: Path) -> tuple[Dimension, Int32Array]:
    """Give new ids the next keys, in the order of their text so that any reading order agrees.

    Parameters
    ----------
    seen : the ids of a file, each once, in the order of the file's keys
    aside : where the new ids are written, when there are any

    Returns the dimension with the new ids, and the store's key of each of the file's keys.
    """
    hashes = hashed(seen)
    keys = _known_keys(dimension, seen, hashes)
    places = np.flatnonzero(keys < 0)
    if not places.size:
        return dimension, keys
    fresh = pl.DataFrame({"at": places, "id": seen.gather(places)}).sort("id")
    at, count = fresh["at"].to_numpy(), dimension.count + places.size
    keys[at] = np.arange(dimension.count, count, dtype=np.int32)
    write_part(aside, keys[at], fresh["id"], hashes[at])
    return Dimension((*dimension.parts, aside), count), keys


def hashed(ids: pl.Series) -> UInt64Array:
    """A number for each id that depends on its text alone, shape (ids,)."""
    digests = b"".join(blake2b(one.encode(), digest_size=8).digest() for one in ids)
    return np.frombuffer(digests, dtype="<u8")


def _known_keys(dimension: Dimension, seen: pl.Series, hashes: UInt64Array) -> Int32Array:
    """The key of each id that the dimension has, -1 for the others, shape (ids,)."""
    keys = np.full(seen.len(), -1, dtype=np.int32)
    wanted = pl.DataFrame({"hash": hashes, "at": pl.int_range(seen.len(), eager=True)})
    maybe = np.zeros(1 << _BITS, dtype=np.bool_)
    shift = np.uint64(64 - _BITS)
    maybe[hashes >> shift] = True
    for group in dimension.groups():
        known = group.read("hash")["hash"].to_numpy()
        rows = np.flatnonzero(maybe[known >> shift])
        alike = pl.DataFrame({"hash": known[rows], "row": rows}).join(wanted, on="hash")
        if alike.height:
            found = group.read("key", "id")[alike["row"].to_numpy()]
            # a hash merely says where to look: an id is known when its whole text is there
            same = (found["id"] == seen.gather(alike["at"])).to_numpy()
            keys[alike["at"].to_numpy()[same]] = found["key"].to_numpy()[same]
    return keys


def write_part(path: Path, keys: Int32Array, ids: pl.Series, hashes: UInt64Array) -> None:
    """Write ids and their keys; not yet in place, see ``coordinate``."""
    rows = pa.Table.from_arrays(
        [arrow_array(keys), arrow_strings(ids), arrow_array(hashes)], schema=SCHEMA
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    # hashes are noise, which no compression makes smaller
    compression = {"key": "zstd", "id": "zstd", "hash": "none"}
    pq.write_table(
        rows, path, row_group_size=ROW_GROUP_ROWS, compression=compression, use_dictionary=False
    )
