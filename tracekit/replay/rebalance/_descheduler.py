"""Plugins of the descheduler as one rebalancer: each sees what those before it leave."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tracekit import parameters
from tracekit.arrays import IntArray
from tracekit.replay.rebalance import RebalancePolicy
from tracekit.replay.view.snapshot import Snapshot

#: From this priority on a pod is critical to the system, and never evicted.
CRITICAL = 2_000_000_000


class Descheduler(RebalancePolicy):
    """Base of the rebalancer that a document makes: its plugins, and their common limits."""

    parts: ClassVar[tuple[RebalancePolicy, ...]]
    text: ClassVar[str]
    where: ClassVar[str]
    document: ClassVar[str]
    below: ClassVar[tuple[int, ...]]
    per_node: ClassVar[int | None] = None
    in_all: ClassVar[int | None] = None

    def evict(self, snapshot: Snapshot) -> IntArray:
        """The containers that each plugin evicts, in turn."""
        seen = snapshot
        left, found = np.arange(len(snapshot.placed.node)), np.empty(0, dtype=np.int64)
        for part, below in zip(self.parts, self.below, strict=True):
            chosen = part.evict(_guarded(seen, below))
            found = np.concatenate([found, left[chosen]])
            left = np.delete(left, chosen)
            seen = _without(seen, chosen)
        return self._capped(snapshot.placed.node, found)

    def _capped(self, node: IntArray, found: IntArray) -> IntArray:
        if self.per_node is not None:
            seen: dict[int, int] = {}
            kept = []
            for at in found.tolist():
                seen[int(node[at])] = seen.get(int(node[at]), 0) + 1
                if seen[int(node[at])] <= self.per_node:
                    kept.append(at)
            found = np.array(kept, dtype=np.int64)
        return found[: self.in_all]

    def metric_samples(self) -> int:
        """As many as any of them looks back on."""
        return max((part.metric_samples() for part in self.parts), default=1)

    def spelled(self) -> Mapping[str, str]:
        """Parameters of each, under its name."""
        own = dict(super().spelled())
        for part in self.parts:
            own |= {f"{part.name()}.{name}": value for name, value in part.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """All of it in one text."""
        return "+".join(part.spelled_out() for part in self.parts)

    def written_in(self) -> tuple[str, ...]:
        """The document."""
        return (self.document,)

    @classmethod
    def name(cls) -> str:
        """The file's name."""
        return cls.text

    def address(self) -> str:
        """As any process reads it."""
        return f"{self.where}{self._ending()}"

    def _ending(self) -> str:
        given = parameters.spell_all(self, defaults=False)
        return f"[{given}]" if given else ""

    def __str__(self) -> str:
        return f"{self.text}{self._ending()}"


def _guarded(snapshot: Snapshot, below: int) -> Snapshot:
    """The snapshot with containers of a critical priority marked as daemons, which never go."""
    placed = snapshot.placed
    if placed.priority is None:
        return snapshot
    kept = placed.priority >= below
    stays = kept if placed.daemon is None else kept | placed.daemon
    return replace(snapshot, known_placed=replace(placed, daemon=stays))


def _without(snapshot: Snapshot, chosen: IntArray) -> Snapshot:
    """The snapshot as if some of its containers had left already."""
    if not len(chosen):
        return snapshot
    placed = snapshot.placed
    stays = np.delete(np.arange(len(placed.node)), chosen)
    at, gone = placed.node[chosen], placed.request[chosen]
    requested, containers = snapshot.requested.copy(), snapshot.containers.copy()
    np.subtract.at(requested, at, gone)
    np.subtract.at(containers, at, 1)
    rows = ("node", "time_ms", "request", "limit", "usage", "index", "daemon", "priority")
    given = {name: getattr(placed, name) for name in rows}
    left: dict[str, Any] = {name: v[stays] for name, v in given.items() if v is not None and len(v)}
    service = tuple(placed.service[int(one)] for one in stays)
    return replace(
        snapshot,
        requested=requested,
        containers=containers,
        known_placed=replace(placed, service=service, **left),
    )
