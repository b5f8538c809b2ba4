"""Remove failed pods: evict pods of phase Failed that are still on a node."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank, owned_by, states_of


@dataclass(frozen=True, kw_only=True)
class RemoveFailedPods(Plugin):
    """Evict failed pods of some age, node by node.

    A failed pod holds nothing of its node and departs when the store says so: a replay has seldom
    one to evict.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removefailedpods (RemoveFailedPods)"

    least_age_ms: Annotated[int, About("The lowest age of an evicted pod.", minimum=0)] = 3_600_000
    reasons: Annotated[Texts, About("Reasons why a pod or its container failed; none: all.")] = ()
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose pods stay.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """The failed pods, node by node."""
        cycle = turn.cycle
        parts = ["containers", *(["init"] if self.init_containers else [])]
        wanted = set(self.reasons)
        failed = cycle.each(
            lambda pod: (
                pod.phase == "Failed"
                and not owned_by(pod, self.not_owner_kinds)
                and (not wanted or bool(wanted & states_of(pod, parts)))
            )
        )
        some = np.flatnonzero(turn.may & failed & (cycle.age_ms() >= self.least_age_ms))
        return by_rank(turn.node, some)
