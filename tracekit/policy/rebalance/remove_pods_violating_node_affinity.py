"""Node affinity: evict pods whose node does not meet their affinity."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingNodeAffinity(Plugin):
    """Evict pods whose node does not meet their node affinity, if they fit a node.

    First come pods whose required affinity is violated, then pods that prefer another node, each
    node by node.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingnodeaffinity (RemovePodsViolatingNodeAffinity)"
    )

    required: Annotated[bool, About("Whether required affinity counts.")] = True
    preferred: Annotated[bool, About("Whether preferred affinity counts.")] = False

    def chosen(self, turn: Turn) -> list[int]:
        """The pods to evict: those with a violated requirement, then those with a better node."""
        pods = self._where(turn, self._misplaced) if self.required else []
        pods += self._where(turn, self._better_off) if self.preferred else []
        return list(dict.fromkeys(pods))

    def _where(self, turn: Turn, wrong: Callable[[Turn, int], bool]) -> list[int]:
        ordered = by_rank(turn.node, np.flatnonzero(turn.may))
        listed = turn.cycle.listed
        return [at for at in ordered if wrong(turn, at) and bool((turn.fits(at) & listed).any())]

    def _misplaced(self, turn: Turn, at: int) -> bool:
        pods, text = turn.cycle.pods, int(turn.cycle.text[at])
        return pods.texts[text].requires and not pods.suits(text)[turn.node[at]]

    def _better_off(self, turn: Turn, at: int) -> bool:
        pods, text = turn.cycle.pods, int(turn.cycle.text[at])
        weight = pods.wishes(text)
        return bool(weight[turn.cycle.listed].max(initial=0) > weight[turn.node[at]])
