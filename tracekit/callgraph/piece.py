"""One piece of the call graphs: a range of traces, rebuilt wherever it is sent."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.callgraph import frames
from tracekit.callgraph.declared import Mode
from tracekit.callgraph.graph import rebuild
from tracekit.callgraph.parts import Part, read
from tracekit.crew.crew import OnProgress

#: calls, traces and ledger of a piece.
Piece = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True)
class PieceTask:
    """Rebuild the traces with keys from ``first`` to ``last``."""

    parts: list[Part]
    first: int
    last: int
    mode: Mode
    move: bool

    def run(self, on_progress: OnProgress) -> Piece | None:
        """The frames of the piece; None where no call has such a key."""
        del on_progress  # a piece is short
        rows = read(self.parts, self.first, self.last)
        if not rows.height:
            return None
        graph = rebuild(rows, mode=self.mode, move=self.move)
        return (
            frames.calls_frame(graph),
            frames.traces_frame(graph, rows),
            frames.ledger_frame(graph),
        )
