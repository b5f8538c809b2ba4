"""Tables of one's own beside those of a store: a file each, under a name."""

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.opened import read_bytes

_READERS: Mapping[str, Callable[[BytesIO], pl.DataFrame]] = {
    ".csv": lambda file: pl.read_csv(file, infer_schema_length=None),
    ".tsv": lambda file: pl.read_csv(file, separator="\t", infer_schema_length=None),
    ".parquet": pl.read_parquet,
    ".json": lambda file: pl.read_json(file, infer_schema_length=None),
    ".jsonl": lambda file: pl.read_ndjson(file, infer_schema_length=None),
}


def read_own_tables(files: Mapping[str, Path | str]) -> dict[str, pl.DataFrame]:
    """The rows of each file, by the name of its table.

    Raises TracekitError for a name that SQL cannot have, and a file that holds no table.
    """
    return {name: _read(name, Path(file)) for name, file in files.items()}


def _read(name: str, file: Path) -> pl.DataFrame:
    if not (name.isidentifier() and name.isascii()):
        raise TracekitError(
            f"'{name}' is no name of a table: {file}",
            hint="letters, digits and _, e.g. --read prices=prices-1.csv",
        )
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise TracekitError(f"{file} is no table", hint=f"its name ends in {', '.join(_READERS)}")
    try:
        return reader(BytesIO(read_bytes(file)))
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise TracekitError(f"cannot read {file}: {first}") from error
