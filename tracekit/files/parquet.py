"""Small Parquet files read whole, every value of them checked."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def read_frame(path: Path) -> pl.DataFrame:
    """A Parquet file as a frame.

    Arrow reads it: where bytes are damaged, polars' own reader may end the whole program.

    Raises
    ------
    OSError
        When it is not there or cannot be read.
    polars.exceptions.ComputeError
        When it is damaged, or no Parquet at all.
    """
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
        table.validate(full=True)
        return pl.DataFrame(table)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise pl.exceptions.ComputeError(str(error)) from error
