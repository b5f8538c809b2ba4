"""Columns of fractions whose values are far above 1: percentages, or amounts of something."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from tracekit.errors import TracekitError
from tracekit.tables import all_tables

#: Use of more than this many percent is an amount of something.
_MOST_PERCENT = 400.0
#: What tables of resources say of an amount whose unit is a share.
_UNIT = "fraction"
_AMOUNTS = ("amount", "request", "limit")


def usual_maximum() -> float:
    """Up to which a fraction is usual: that of a node's use."""
    columns = {one.name: one for one in all_tables()["node_usage"].columns}
    found = columns["cpu_fraction"].usual_maximum
    assert found is not None  # noqa: S101 - it is stated there
    return found


def check_above(name: str, what: str, *, above: int, of: int, most: float, usual: float) -> None:
    """Raise TracekitError where most values are above what is usual.

    Parameters
    ----------
    name, what : the file, and what the values are called there
    above, of : how many are above ``usual``, and how many there are
    most : the largest
    """
    if above * 2 <= of:
        return
    likely = "percent" if most <= _MOST_PERCENT else "an amount, not a share"
    raise TracekitError(
        f"{name}: {what} is a fraction, 0..1, but {above:,} of {of:,} values are above {usual:g},"
        f" up to {most:g}",
        hint=f"it looks like {likely}; nothing of the file was taken in",
    )


@dataclass
class Fractions:
    """Shares among the amounts of a file, by table, column and resource."""

    _seen: dict[tuple[str, str, str], tuple[int, int, float]] = field(default_factory=dict)

    def note(self, table: str, rows: pl.DataFrame) -> None:
        """Rows as a source's code gives them; those of another unit are passed over."""
        if "unit" not in rows.columns or "resource" not in rows.columns:
            return
        shares = rows.filter(pl.col("unit") == _UNIT)
        for column in _AMOUNTS:
            if shares.height and column in shares.columns:
                self._add(table, column, shares)

    def _add(self, table: str, column: str, shares: pl.DataFrame) -> None:
        value = pl.col(column).cast(pl.Float64, strict=False).fill_nan(None)
        found = shares.group_by("resource").agg(
            above=(value > usual_maximum()).sum(), of=value.count(), most=value.max()
        )
        for resource, above, of, most in found.iter_rows():
            key = (table, column, str(resource))
            before = self._seen.get(key, (0, 0, 0.0))
            self._seen[key] = (before[0] + above, before[1] + of, max(before[2], most or 0.0))

    def check(self, name: str) -> None:
        """Raise TracekitError where most shares of a resource are far above 1."""
        for (_, column, resource), (above, of, most) in sorted(self._seen.items()):
            what = resource if column == "amount" else f"{column} of {resource}"
            check_above(name, what, above=above, of=of, most=most, usual=usual_maximum())
