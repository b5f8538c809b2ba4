"""numpy and Python values as Arrow arrays, without ``pyarrow.array``.

That one imports pandas where it is installed, which takes longer than ingesting a small file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


def arrow_array(values: NDArray[np.generic], absent: NDArray[np.bool_] | None = None) -> pa.Array:
    """A numpy array as Arrow array, without a copy; NULL where ``absent``."""
    validity = None
    if absent is not None and absent.any():
        validity = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [validity, content])


def arrow_table(rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    """Dictionaries as an Arrow table."""
    columns = {
        name: pl.Series([row[name] for row in rows], dtype=_polars_type(schema.field(name).type))
        for name in schema.names
    }
    return pl.DataFrame(columns).to_arrow().cast(schema)


def _polars_type(kind: pa.DataType) -> type[pl.DataType]:
    return pl.String if pa.types.is_string(kind) else pl.Int64


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
