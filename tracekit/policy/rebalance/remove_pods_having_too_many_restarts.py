"""Too many restarts: evict what keeps failing where it is."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, states_of


@dataclass(frozen=True, kw_only=True)
class RemovePodsHavingTooManyRestarts(Plugin):
    """Evict pods whose containers restarted often, node by node, the most restarts first.

    Restarts are those of the ingested pod list; a pod that was evicted before has none.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodshavingtoomanyrestarts (RemovePodsHavingTooManyRestarts)"
    )

    restarts: Annotated[
        int, About("The number of restarts from which a pod is evicted.", minimum=1)
    ] = 100
    init_containers: Annotated[bool, About("Whether init containers count, too.")] = False
    states: Annotated[Texts, About("Running, or reasons why a container waits; none: all.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """The pods to evict, node by node, the most restarts first."""
        cycle = turn.cycle
        parts = ["containers", *(["init"] if self.init_containers else [])]
        wanted = set(self.states)
        count = cycle.each(
            lambda pod: sum(pod.states.get("restarts", {}).get(part, 0) for part in parts), np.int64
        )
        often = count >= self.restarts
        if wanted:
            often &= cycle.each(lambda pod: bool(wanted & states_of(pod, parts, ("waiting",))))
        some = np.flatnonzero(turn.may & often & ~cycle.renewed)
        ordered: list[int] = some[np.lexsort((-count[some], turn.node[some]))].tolist()
        return ordered
