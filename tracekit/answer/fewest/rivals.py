"""Policies beside the one that a count is about: which of them a search is worth it for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from tracekit.answer.fewest.found import Found
from tracekit.answer.fewest.searches import Asked, asking, counted
from tracekit.answer.intervals import RANDOM
from tracekit.base.crew import Crew
from tracekit.base.progress import Task
from tracekit.policy.entrant import Entrant, parse_entrant
from tracekit.replay.chance.student import MATERIAL


@dataclass(frozen=True)
class Rivals:
    """What a few replays tell of policies that a search would take a hundred replays for.

    Of six orders of arrival a difference is told from chance only where all have it of one sign
    (``replay.chance.student``). So one order in which a policy needs as many nodes ends the matter,
    and the first order is met alone.
    """

    asked: Asked
    crew: Crew
    kept: Path | None
    task: Task

    def fewer(self, rivals: Mapping[str, Entrant], usual: Found | None) -> dict[str, Entrant]:
        """Those that may need fewer nodes than a policy; all of them where that has no answer."""
        if usual is None:
            return dict(rivals)
        counts = [one - 1 for one in usual.by_order]
        return {name: one for name, one in rivals.items() if self._enough(one, counts, ends=False)}

    def as_random(self, found: Mapping[str, Found]) -> dict[str, int]:
        """The counts that are no less than those of placement at random, by 1 % and one node."""
        drawn = parse_entrant(RANDOM)
        most = {
            name: [one.nodes + max(ceil(MATERIAL * one.nodes), 1) - 1] * self.asked.repeats
            for name, one in found.items()
        }
        return {
            name: found[name].nodes
            for name, counts in most.items()
            if self._enough(drawn, counts, ends=True)
        }

    def _enough(self, policy: Entrant, counts: Sequence[int], *, ends: bool) -> bool:
        """Whether so many nodes are enough, in all orders; in any where one that holds ``ends``."""
        done = counted(self.task, str(policy))
        with asking(self.asked, policy, self.crew, self.kept, done) as asks:
            for orders in (counts[:1], counts):
                held = self.asked.enough(policy, orders, asks, self.crew.size)
                if ends in held:
                    return ends
        return not ends
