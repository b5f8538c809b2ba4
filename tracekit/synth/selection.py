"""Which archives of a trace are written: all, or some tables and parts of it."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass

from tracekit.errors import TracekitError, nearest
from tracekit.synth import layout
from tracekit.synth.layout import Layout

LAYOUTS = (layout.NODE, layout.CONTAINER, layout.RATE, layout.CALL)
_WORDS = {"node": layout.NODE, "resource": layout.CONTAINER, "rate": layout.RATE,
          "call": layout.CALL}  # fmt: skip
#: The word for the tables of nodes and containers, which the release does not have.
SIZE = "size"


@dataclass(frozen=True)
class Selection:
    """Some tables, and the numbers of their archives; None stands for all.

    ``sizes``: whether the tables of nodes and containers are written too.
    """

    layouts: Collection[Layout] = LAYOUTS
    parts: Container[int] | None = None
    sizes: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.parts is None and len(self.layouts) == len(LAYOUTS)

    def numbers(self, kind: Layout, files: int) -> list[int]:
        """The archives to write of a table that has so many; one of one archive is taken whole."""
        if kind not in self.layouts:
            return []
        every = self.parts is None or files == 1
        return [number for number in range(files) if every or number in (self.parts or ())]


def select(tables: Collection[str], parts: Container[int] | None) -> Selection:
    """The selection of tables by word (``resource``), name or file stem; all when none is named.

    Raises TracekitError for an unknown table.
    """
    known = dict(_WORDS)
    for kind in LAYOUTS:
        known |= {kind.table: kind, kind.stem.lower(): kind}
    named = [name.lower() for name in tables]
    for name in named:
        if name not in {*known, SIZE}:
            close = nearest(name, {*known, SIZE})
            raise TracekitError(
                f"no table '{name}'; tables: {', '.join([*_WORDS, SIZE])}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    asked = [known[name] for name in named if name != SIZE]
    layouts = [kind for kind in LAYOUTS if not named or kind in asked]
    return Selection(layouts, parts, sizes=not named or SIZE in named)
