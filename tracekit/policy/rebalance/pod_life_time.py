"""Pod life time: evict containers that are older than a limit."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.base.units import MS_PER_S
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank, owned_by, states_of


@dataclass(frozen=True, kw_only=True)
class PodLifeTime(Plugin):
    """Evict containers that were created longer ago than a limit, the oldest first.

    A container that ran at the start of the replay has its recorded age.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf podlifetime (PodLifeTime)"

    longest_ms: Annotated[
        int | None, About("The highest age of a container; none: no limit.", minimum=0)
    ] = 86_400_000
    states: Annotated[
        Texts, About("Phases, or reasons why containers wait or ended; none: all.")
    ] = ()
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    ephemeral_containers: Annotated[bool, About("Whether ephemeral containers count, too.")] = False
    owner_kinds: Annotated[Texts, About("Kinds of owners whose containers may go; none: all.")] = ()
    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose containers stay.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """The containers to evict, the oldest first."""
        cycle, old = turn.cycle, turn.may
        parts = ["containers", *(["init"] if self.init_containers else [])]
        parts += ["ephemeral"] if self.ephemeral_containers else []
        if self.longest_ms is not None:
            # upstream compares whole seconds
            seconds = cycle.age_ms() // MS_PER_S
            old = old & (seconds > self.longest_ms // MS_PER_S)
        if self.states:
            wanted = set(self.states)
            old = old & cycle.each(lambda pod: bool(wanted & states_of(pod, parts)))
        if self.owner_kinds:
            old = old & cycle.each(lambda pod: owned_by(pod, self.owner_kinds))
        if self.not_owner_kinds:
            old = old & ~cycle.each(lambda pod: owned_by(pod, self.not_owner_kinds))
        return by_rank(cycle.created_ms, np.flatnonzero(old))
