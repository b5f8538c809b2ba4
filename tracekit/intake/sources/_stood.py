"""Rows and values as they are in a file, for rejects."""

import csv
import io
from collections.abc import Mapping

#: The end of the name of a column that a reader adds. Beside a column of the file it holds the
#: values as they stand there, where they were changed.
STOOD = "\0"
#: The column of a frame that keeps each row's line.
LINE = f"text{STOOD}"


def as_it_stands(row: Mapping[str, object], column: str) -> object:
    """The value of a column as it is in the file."""
    return row.get(column + STOOD, row[column])


def row_text(row: Mapping[str, object]) -> str:
    """The row's line in the file; made of its columns if the line is not kept."""
    if LINE in row:
        return str(row[LINE])
    # a name that ends so was added by a reader: the row stands in the file without it
    own = [name for name in row if name != "line" and not name.endswith(STOOD)]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([as_it_stands(row, one) for one in own])
    return text.getvalue()
