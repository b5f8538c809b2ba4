"""Small Parquet files read whole, every value of them checked."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.opened import open_file


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
        with open_file(path) as raw, pq.ParquetFile(raw) as file:
            table = file.read()
        table.validate(full=True)
        # what a writer notes about a column is for that writer; damaged, it ends polars
        plain = pa.schema([column.remove_metadata() for column in table.schema])
        return pl.DataFrame(pa.Table.from_arrays(table.columns, schema=plain))
    except (pa.ArrowException, UnicodeDecodeError, pl.exceptions.PanicException) as error:
        raise pl.exceptions.ComputeError(str(error)) from error
