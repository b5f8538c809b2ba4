"""Integer keys for the trace's 64-digit ids; a key, once given, never changes.

A dimension may hold many millions of ids, so it is only ever walked over, a row group at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tracekit.store.arrow import arrow_array
from tracekit.store.folder import dimension_path
from tracekit.store.manifest import Manifest

SCHEMA = pa.schema([("key", pa.int32()), ("id", pa.string())])
GROUP_ROWS = 122_880


@dataclass(frozen=True)
class Dimension:
    """The ids of one entity: the first ``count`` rows of a Parquet file, if there are any.

    Rows beyond ``count`` belong to an ingest that was interrupted.
    """

    path: Path | None = None
    count: int = 0

    def groups(self) -> Iterator[pa.Table]:
        """The ids, ``key`` and ``id``, in the order of keys, a row group at a time."""
        left = self.count
        if self.path is None or not left:
            return
        with pq.ParquetFile(self.path) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group).slice(0, left)
                left -= rows.num_rows
                yield rows
                if not left:
                    return


def committed(folder: Path, entity: str, manifest: Manifest) -> Dimension:
    """An entity's ids as the manifest counts them."""
    count = manifest.dimensions.get(entity, 0)
    return Dimension(folder / dimension_path(entity), count) if count else Dimension()


def extend(
    dimension: Dimension, seen: pl.Series, aside: Path
) -> tuple[Dimension, NDArray[np.int32]]:
    """Give new ids the next keys, in the order of their text so that any reading order agrees.

    Parameters
    ----------
    seen : the ids of a file, each once, in the order of the file's keys
    aside : where the longer dimension is written, when there are new ids

    Returns the dimension with the new ids, and the store's key of each of the file's keys.
    """
    keys = _known_keys(dimension, seen)
    places = np.flatnonzero(keys < 0)
    if not places.size:
        return dimension, keys
    fresh = pl.DataFrame({"at": places, "id": seen.gather(places)}).sort("id")
    fresh_keys = np.arange(dimension.count, dimension.count + places.size, dtype=np.int32)
    keys[fresh["at"].to_numpy()] = fresh_keys
    ids = fresh["id"].to_arrow().cast(pa.string())
    new = pa.Table.from_arrays([arrow_array(fresh_keys), ids], schema=SCHEMA)
    write_dimension(aside, _chain(dimension.groups(), new))
    return Dimension(aside, dimension.count + places.size), keys


def _known_keys(dimension: Dimension, seen: pl.Series) -> NDArray[np.int32]:
    """The key of each id that the dimension has, -1 for the others, shape (ids,)."""
    keys = np.full(seen.len(), -1, dtype=np.int32)
    wanted = pl.DataFrame({"id": seen, "at": pl.int_range(seen.len(), eager=True)})
    for group in dimension.groups():
        found = pl.DataFrame(group).join(wanted, on="id", how="inner")
        keys[found["at"].to_numpy()] = found["key"].to_numpy()
    return keys


def _chain(groups: Iterator[pa.Table], new: pa.Table) -> Iterator[pa.Table]:
    yield from groups
    yield new


def write_dimension(path: Path, groups: Iterator[pa.Table]) -> None:
    """Write an entity's ids in row groups of one size; not yet in place, see ``write``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=False) as out:
        for group in in_groups(groups, GROUP_ROWS):
            out.write_table(group, row_group_size=GROUP_ROWS)


def in_groups(pieces: Iterator[pa.Table], group_rows: int) -> Iterator[pa.Table]:
    """Tables of exactly ``group_rows`` rows, the last one shorter."""
    pending: list[pa.Table] = []
    rows = 0
    for piece in pieces:
        rest = piece
        while rows + rest.num_rows >= group_rows:
            missing = group_rows - rows
            yield pa.concat_tables([*pending, rest.slice(0, missing)]).combine_chunks()
            rest, pending, rows = rest.slice(missing), [], 0
        if rest.num_rows:
            pending.append(rest)
            rows += rest.num_rows
    if pending:
        yield pa.concat_tables(pending).combine_chunks()
