"""Headerless tables, which the shape of their first lines tells apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.sources._cluster import Head
from tracekit.sources._rows import Delimited

#: Patterns of fields: a whole number from 0 on, a number or nothing.
INTEGER, REAL = r"\d+", r"[-+.\deE]*"
_LOOKED_AT = 5


@dataclass(frozen=True)
class Shape:
    """A headerless table: its columns, each with the pattern of its fields.

    A column without a name is passed over.
    """

    fields: tuple[tuple[str, str], ...]

    def fits(self, head: Head) -> bool:
        """Whether the first lines of a file look like this table's."""
        pattern = re.compile(",".join(f"(?:{pattern})" for _, pattern in self.fields))
        lines = head.lines[:_LOOKED_AT]
        return bool(lines) and all(pattern.fullmatch(line) for line in lines)

    def form(self, table: str, numbers: Sequence[str]) -> Delimited:
        """How the lines are split."""
        return Delimited(columns=[name for name, _ in self.fields], numbers=numbers, table=table)
