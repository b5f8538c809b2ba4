"""Numbers of archives as users write them: ``0-3,7``."""

import re
from dataclasses import dataclass

from tracekit.base.errors import TracekitError


@dataclass(frozen=True)
class Parts:
    """Some numbers, kept as ranges: a huge one is not counted out."""

    ranges: tuple[range, ...]

    def __contains__(self, number: object) -> bool:
        return any(number in numbers for numbers in self.ranges)


def parse_parts(text: str | None) -> Parts | None:
    """``0-3,7`` as numbers; None, which stands for all, for None.

    Raises TracekitError for anything else.
    """
    if text is None:
        return None
    ranges = []
    for piece in text.split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", piece)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise TracekitError(
                f"--parts {text}: '{piece.strip()}' is no range of parts",
                hint="write numbers and ranges, for example --parts 0-3,7",
            )
        ranges.append(range(first, last + 1))
    return Parts(tuple(ranges))
