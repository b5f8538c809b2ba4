"""Remove failed pods: what has failed and is still there."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank, owned_by, states_of


@dataclass(frozen=True, kw_only=True)
class RemoveFailedPods(Plugin):
    """Evict failed pods of some age, node by node.

    A pod that has failed holds nothing of its node, and has departed where a store says when: in a
    replay there is seldom one to evict.
    """

    source: ClassVar[str] = "descheduler @7d2b28bf removefailedpods (RemoveFailedPods)"

    least_age_ms: Annotated[int, About("How old a pod must be.", minimum=0)] = 3_600_000
    reasons: Annotated[Texts, About("Why it, or a container of it, failed; none: any.")] = ()
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    not_owner_kinds: Annotated[Texts, About("Kinds of owners whose pods stay.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """Node by node."""
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
