"""Headerless tables, which the shape of their first lines tells apart."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.sources._cluster import Head
from tracekit.sources._rows import Delimited

#: Patterns of fields: a whole number from 0 on, a number or nothing.
INTEGER, REAL = r"\d+", r"[-+.\deE]*"
_LOOKED_AT = 20
_DIGIT = re.compile(r"\d")


def most_fit(head: Head, pattern: re.Pattern[str]) -> bool:
    """Whether most of the first lines of a file look like this: a broken one is a row to reject."""
    lines = [line for line in head.lines[:_LOOKED_AT] if line.strip()]
    fitting = sum(pattern.fullmatch(line) is not None for line in lines)
    return fitting * 2 > len(lines)


@dataclass(frozen=True)
class Shape:
    """A headerless table: its columns, each with the pattern of its fields.

    A column without a name is passed over.
    """

    fields: tuple[tuple[str, str], ...]

    def fits(self, head: Head) -> bool:
        """Whether most of the first lines of a file look like this table's."""
        # a first line without any digit names columns, and tables without a header have none
        first = head.lines[0] if head.lines else ""
        pattern = re.compile(",".join(f"(?:{pattern})" for _, pattern in self.fields))
        return _DIGIT.search(first) is not None and most_fit(head, pattern)

    def form(self, table: str, numbers: Sequence[str]) -> Delimited:
        """How the lines are split."""
        return Delimited(columns=[name for name, _ in self.fields], numbers=numbers, table=table)
