"""The rows of a trace file as a frame, with names in place of the file's keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa

from tracekit.intake.read.arrow_rows import table_of
from tracekit.intake.read.coded import LINE, key_kinds, kind_of

if TYPE_CHECKING:
    from tracekit.intake.read.table_file import CodedFile, Reading


def rows_of(coded: CodedFile) -> tuple[pl.DataFrame, pl.DataFrame, Reading]:
    """The clean rows, the rejects and the reading of a file."""
    blocks = list(coded.blocks())
    table = table_of(coded.file.match)
    columns = {}
    for column in table.columns:
        values = np.concatenate([block.columns[column.name] for block in blocks])
        columns[column.name] = pl.Series(values)
        if column.kind in {"id", "text"}:
            some = coded.keys.texts(key_kinds(table).index(kind_of(column)))
            texts = pl.Series(pa.chunked_array(some, pa.large_string()), dtype=pl.String)
            result = texts.gather(np.where(values < 0, 0, values)) if texts.len() else texts
            result = result if texts.len() else pl.Series([None] * values.size, dtype=pl.String)
            columns[column.name] = result.set(pl.Series(values < 0), None)
    columns[LINE] = pl.Series(np.concatenate([block.columns[LINE] for block in blocks]))
    rejects = pl.concat([block.rejects for block in blocks])
    return pl.DataFrame(columns), rejects, coded.reading
