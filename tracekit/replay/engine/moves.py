"""What a rebalancer moved: when each container was evicted, from where, and where it ran next."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, IntArray

#: The columns, by number; ``to_node`` is null for who found no other node.
SCHEMA = {
    "time_ms": pl.Int64,
    "container": pl.Int64,
    "from_node": pl.Int64,
    "to_node": pl.Int64,
    "strategy": pl.String,
}
#: How many containers a strategy looked at and left where they were, by reason.
STAYS = {"strategy": pl.String, "reason": pl.String, "containers": pl.Int64}


class Moves:
    """Evictions by a rebalancer, in their order."""

    def __init__(self, containers: int) -> None:
        self._moved = np.zeros(containers, dtype=np.bool_)
        self._rows: list[tuple[int, int, int]] = []
        self._strategies: list[str] = []
        self._stays: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._next: list[int | None] = []
        self._last: dict[int, int] = {}

    def evicted(
        self, now: int, containers: IntArray, nodes: IntArray, strategies: Iterable[str]
    ) -> None:
        """These were evicted from these nodes by these strategies."""
        self._strategies += strategies
        for container, node in zip(containers.tolist(), nodes.tolist(), strict=True):
            self._moved[container] = True
            self._last[container] = len(self._rows)
            self._rows.append((now, container, node))
            self._next.append(None)

    def stay(self, strategy: str, reason: str, containers: IntArray) -> None:
        """These a strategy leaves where they are."""
        self._stays[strategy, reason].update(containers.tolist())

    def moved(self, containers: IntArray) -> BoolArray:
        """Which of some containers were ever evicted."""
        return np.asarray(self._moved[containers])

    def placed(self, container: int, node: int) -> None:
        """A container was put on a node."""
        at = self._last.get(container)
        if at is not None and self._next[at] is None:
            self._next[at] = node

    def taken_back(self, container: int) -> None:
        """A container is as if it had not been placed since its eviction."""
        if container in self._last:
            self._next[self._last[container]] = None

    def frame(self) -> pl.DataFrame:
        """A row for each eviction, with ``SCHEMA``."""
        rows = [
            (*row, to, by)
            for row, to, by in zip(self._rows, self._next, self._strategies, strict=True)
        ]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def stays(self) -> pl.DataFrame:
        """A row for each strategy and reason, with ``STAYS``; a container counts once."""
        rows = [(*why, len(those)) for why, those in sorted(self._stays.items())]
        return pl.DataFrame(rows, schema=STAYS, orient="row")
