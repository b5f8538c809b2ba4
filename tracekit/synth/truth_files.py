"""Tables of the truth on the disk; large ones come in pieces that are joined at the end."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from tracekit.planted import TRUTH

_PIECES = ".pieces"


def write_truth(folder: Path, name: str, table: pl.DataFrame) -> None:
    """Write a table of the truth whole."""
    table.write_parquet(folder / TRUTH / f"{name}.parquet", statistics=False)


def write_rows(folder: Path, name: str, table: pl.DataFrame) -> None:
    """Write rows that other programs give as CSV."""
    table.write_csv(folder / TRUTH / f"{name}.csv")


def write_piece(folder: Path, name: str, number: int, table: pl.DataFrame) -> None:
    """Write the piece of a table that belongs to archive ``number``."""
    pieces = folder / TRUTH / _PIECES / name
    pieces.mkdir(parents=True, exist_ok=True)
    table.write_parquet(pieces / f"{number:06d}.parquet", statistics=False)


def join_pieces(folder: Path) -> None:
    """Make one table of each table's pieces, in the order of the archives."""
    for pieces in sorted((folder / TRUTH / _PIECES).glob("*")):
        paths = sorted(pieces.iterdir())
        schema = pq.read_schema(paths[0])
        out = folder / TRUTH / f"{pieces.name}.parquet"
        with pq.ParquetWriter(out, schema, compression="zstd", write_statistics=False) as writer:
            for path in paths:
                writer.write_table(pq.read_table(path, schema=schema))
    shutil.rmtree(folder / TRUTH / _PIECES, ignore_errors=True)
