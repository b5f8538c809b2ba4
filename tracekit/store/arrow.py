"""numpy and Python values as Arrow arrays, without ``pyarrow.array`` and without casts.

The one imports pandas where it is installed, the others ``pyarrow.compute``, and either takes
longer than ingesting a small file.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray

#: Rows of a row group: as many as DuckDB reads at once.
ROW_GROUP_ROWS = 122_880
_MOST_TEXT_BYTES = 2**31 - 1


def arrow_array(values: NDArray[np.generic], absent: BoolArray | None = None) -> pa.Array:
    """A numpy array as Arrow array, without a copy; NULL where ``absent``."""
    validity = None
    if absent is not None and absent.any():
        validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [validity, content])


def arrow_strings(texts: pl.Series) -> pa.Array:
    """Texts as an Arrow array of strings; raises ArrowInvalid for 2 GiB of them."""
    large = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    validity, offsets, content = large.buffers()
    places = np.frombuffer(offsets, dtype=np.int64, count=large.offset + len(large) + 1)
    if places[-1] > _MOST_TEXT_BYTES:
        return large.cast(pa.string())
    narrow = pa.py_buffer(places.astype(np.int32))
    return pa.Array.from_buffers(
        pa.string(), len(large), [validity, narrow, content], offset=large.offset
    )


def arrow_table(rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    """Dictionaries as an Arrow table of whole numbers and strings."""
    columns = [_arrow_column([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _arrow_column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return arrow_strings(pl.Series(values, dtype=pl.String))
    return pl.Series(values, dtype=pl.Int64).to_arrow()


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
