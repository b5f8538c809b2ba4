"""What is known of sockets for kinds of containers, until the sockets change."""

from __future__ import annotations

import numpy as np

#: Scores that are kept per kind of container, at most this many in all: 16 bytes each.
MOST_KEPT = 32_000_000


class Row:
    """What is known of every socket for one kind of container."""

    def __init__(self, sockets: int) -> None:
        self.known = -1
        self.scores = np.full(sockets, np.inf)
        self.starts = np.full(sockets, -1, dtype=np.int64)


class Kept:
    """Rows by kind of container; the one longest unused goes when there are too many."""

    def __init__(self, sockets: int) -> None:
        self._sockets = sockets
        self._most = max(MOST_KEPT // max(sockets, 1), 8)
        self._rows: dict[tuple[int, int, bool, int], Row] = {}

    def row(self, kind: tuple[int, int, bool, int]) -> Row:
        """The kind's row, new if it was not kept."""
        found = self._rows.pop(kind, None) or Row(self._sockets)
        self._rows[kind] = found
        if len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return found
