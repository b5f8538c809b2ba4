"""Plugins of the descheduler as one rebalancer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.cluster.constraints.labels import Requirement
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._turn import Cycle, Evictor, Limits, Plugin, Scope, Turn
from tracekit.policy.view.snapshot import Snapshot

#: With fewer ready nodes the descheduler does nothing.
FEWEST_NODES = 2


@dataclass(frozen=True, kw_only=True)
class Part:
    """A plugin with the evictor of its profile, and the pods that it is about.

    It balances or, before all that do, deschedules.
    """

    plugin: Plugin
    balances: bool
    evictor: Evictor
    scope: Scope


class Descheduler(RebalancePolicy):
    """Base of the rebalancer that a document makes: its plugins, and their common limits."""

    parts: ClassVar[tuple[Part, ...]]
    text: ClassVar[str]
    where: ClassVar[str]
    document: ClassVar[str]
    nodes: ClassVar[tuple[Requirement, ...]]
    per_node: ClassVar[int | None] = None
    per_namespace: ClassVar[int | None] = None
    in_all: ClassVar[int | None] = None

    def evict(self, snapshot: Snapshot) -> IntArray:
        """The containers that each plugin evicts, in turn."""
        limits = Limits(
            per_node=self.per_node, per_namespace=self.per_namespace, in_all=self.in_all
        )
        cycle = Cycle(snapshot, limits, self.nodes)
        if cycle.listed.sum() < FEWEST_NODES:
            return np.empty(0, dtype=np.int64)
        for balances in (False, True):
            for part in self.parts:
                if part.balances == balances:
                    part.plugin.run(Turn(cycle, part.evictor, part.scope))
            cycle.settle()
        return np.array(list(cycle.evicted), dtype=np.int64)

    def metric_samples(self) -> int:
        """As many as any of them looks back on."""
        return max((part.plugin.metric_samples() for part in self.parts), default=1)

    def spelled(self) -> Mapping[str, str]:
        """Parameters of each, under its name."""
        own = dict(super().spelled())
        for plugin in (part.plugin for part in self.parts):
            own |= {f"{plugin.name()}.{name}": value for name, value in plugin.spelled().items()}
        return own

    def spelled_out(self) -> str:
        """All of it in one text."""
        return "+".join(part.plugin.spelled_out() for part in self.parts)

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
