"""Workbooks: a sheet as delimited text, read by the code that reads CSV."""

from __future__ import annotations

import dataclasses
import io

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Head, Opened

#: How the two kinds of workbooks begin: a zip, and an old compound file.
_XLSX, _XLS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def is_workbook(head: Head) -> bool:
    """Whether a file is named and begins as a workbook, .xlsx or .xls."""
    name = head.name.lower()
    return (name.endswith(".xlsx") and head.start.startswith(_XLSX)) or (
        name.endswith(".xls") and head.start.startswith(_XLS)
    )


def as_csv(opened: Opened) -> Opened:
    """The first sheet of a workbook as comma-separated text; any other file as it is.

    Cells are taken as texts, so that numbers stored as text are numbers too.

    Raises
    ------
    TracekitError
        When no library for workbooks is installed, or the file is damaged.
    """
    with opened.stream() as stream:
        start = stream.read(len(_XLSX))
        if start not in {_XLSX, _XLS}:
            return opened
        data = start + stream.read()
    text = _sheet(data, opened.name).write_csv().encode()
    return dataclasses.replace(opened, stream=lambda: io.BytesIO(text))


def _sheet(data: bytes, name: str) -> pl.DataFrame:
    try:
        return pl.read_excel(io.BytesIO(data), engine="calamine", infer_schema_length=0)
    except ImportError as error:
        raise TracekitError(
            f"{name}: a workbook, and no library that reads workbooks is installed",
            hint="pip install 'tracekit[excel]', or save the sheet as CSV and ingest that",
        ) from error
    except Exception as error:  # the engine's errors have no common class
        raise TracekitError(
            f"{name}: a workbook that cannot be read: {str(error).splitlines()[0][:200]}",
            hint="fetch the file again, or save the sheet as CSV and ingest that",
        ) from error
