"""Node taints: evict pods that do not tolerate a taint of their node."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.cluster.constraints.labels import Taint
from tracekit.policy.rebalance._evictor import Texts
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingNodeTaints(Plugin):
    """Evict pods from nodes with a taint NoSchedule that they do not tolerate, node by node."""

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingnodetaints (RemovePodsViolatingNodeTaints)"
    )

    soft: Annotated[bool, About("Whether taints PreferNoSchedule count, too.")] = False
    taints: Annotated[Texts, About("Taints that count, key or key=value; none: all.")] = ()
    not_taints: Annotated[Texts, About("Taints that do not count, key or key=value.")] = ()

    def chosen(self, turn: Turn) -> list[int]:
        """The pods to evict, node by node."""
        cycle = turn.cycle
        texts = np.unique(cycle.text)
        tolerated = np.ones((len(cycle.pods.texts), len(cycle.listed)), dtype=np.bool_)
        for text in texts.tolist():
            tolerated[text] = cycle.pods.tolerates(text, self._counts)
        some = np.flatnonzero(turn.may & ~tolerated[cycle.text, turn.node])
        return by_rank(turn.node, some)

    def _counts(self, taint: Taint) -> bool:
        effects = ("NoSchedule", "PreferNoSchedule") if self.soft else ("NoSchedule",)
        names = {taint.key, f"{taint.key}={taint.value}"} if taint.value else {taint.key}
        wanted = not self.taints or bool(names & set(self.taints))
        return taint.effect in effects and wanted and not names & set(self.not_taints)
