"""Node affinity: evict what would rather run, or must run, on another node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from tracekit.base.parameters import About
from tracekit.policy.rebalance._turn import Plugin, Turn, by_rank


@dataclass(frozen=True, kw_only=True)
class RemovePodsViolatingNodeAffinity(Plugin):
    """Evict pods whose node does not meet the affinity that they state, where some node takes them.

    Node by node: first those that require another node, then those that another node suits better.
    """

    source: ClassVar[str] = (
        "descheduler @7d2b28bf removepodsviolatingnodeaffinity (RemovePodsViolatingNodeAffinity)"
    )

    required: Annotated[bool, About("Mind what pods require.")] = True
    preferred: Annotated[bool, About("Mind what pods prefer.")] = False

    def chosen(self, turn: Turn) -> list[int]:
        """Those who may go and are on a node that does not suit them."""
        found = self._where(turn, self._misplaced) if self.required else []
        found += self._where(turn, self._better_off) if self.preferred else []
        return list(dict.fromkeys(found))

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
