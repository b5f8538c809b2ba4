"""Looks up in another file the things that a file names, without holding rows in Python."""

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from tracekit.sources._cluster import Opened
from tracekit.sources._rows import Delimited, frames


class Known:
    """Values by the keys of a file's rows; of two rows with one key the first holds.

    Fourteen million rows of two keys and two numbers take about a gigabyte.
    """

    def __init__(
        self, files: Iterable[Opened], form: Delimited, keys: Sequence[str], values: Sequence[str]
    ) -> None:
        wanted = [*keys, *values]
        kinds = {name: pl.Float64 if name in form.numbers else pl.String for name in wanted}
        parts = [rows.select(wanted) for file in files for rows, _ in frames(file, form)]
        rows = pl.concat([pl.DataFrame(schema=kinds), *parts])
        self._names, self._values = tuple(keys), tuple(values)
        self._rows = rows.with_columns(self._hash()).sort("hash", maintain_order=True)
        self._hashes = self._rows["hash"].to_numpy()

    def of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The values for each row; NULL where its key is not known."""
        if not len(self._hashes):
            return self._rows.select(self._values).clear(rows.height)
        at = np.searchsorted(self._hashes, rows.select(self._hash())["hash"].to_numpy())
        found = self._rows[np.minimum(at, len(self._hashes) - 1)]
        same = pl.Series([True]).new_from_index(0, rows.height)
        for name in self._names:
            # two keys may have one hash
            same &= (found[name] == rows[name]).fill_null(value=False)
        return found.with_columns(same.alias("same")).select(
            pl.when("same").then(name).alias(name) for name in self._values
        )

    def _hash(self) -> pl.Expr:
        return pl.struct(self._names).hash(0).alias("hash")
