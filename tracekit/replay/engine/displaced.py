"""Containers that were taken off their nodes, and who of them did not run again.

A container finds no other node where it does not run again before it departs or the replay ends,
whichever is first. It counts by what took it off its node last: a loss, or one of higher priority.
Moves of a rebalancer are counted elsewhere.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from tracekit.base.arrays import IntArray
from tracekit.policy.view.taken_off import TakenOff

#: What took a container off its node.
Cause = Literal["loss", "priority", "move"]


class Displaced:
    """Who was taken off a node, by what, and who did not run again.

    Attributes
    ----------
    against_budget : int
        How many evictions by one of higher priority a budget of disruption did not allow.
    """

    def __init__(self) -> None:
        self.against_budget = 0
        self._preempted: list[int] = []
        self._lost: set[int] = set()
        self._last: dict[int, Cause] = {}
        self._not_again: set[int] = set()

    def off(self, containers: IntArray, cause: Cause) -> None:
        """These were taken off their nodes."""
        some = containers.tolist()
        self._last.update(dict.fromkeys(some, cause))
        if cause == "loss":
            self._lost.update(some)
        elif cause == "priority":
            self._preempted.extend(some)

    def waited_in_vain(self, containers: Iterable[int]) -> None:
        """These wait as they depart, or as the replay ends."""
        self._not_again.update(one for one in containers if one in self._last)

    def taken_off(self) -> TakenOff:
        """What is told of them when the replay is over; containers in order."""
        return TakenOff(
            evicted=_in_order(self._lost),
            preempted=np.array(self._preempted, dtype=np.int64),
            against_budget=self.against_budget,
            unplaced_after_eviction=self.not_again("priority"),
            unplaced_after_loss=self.not_again("loss"),
        )

    def not_again(self, cause: Cause | None = None) -> IntArray:
        """Those that did not run again, in order; of one cause, or of all."""
        return _in_order(one for one in self._not_again if cause in {None, self._last[one]})


def _in_order(some: Iterable[int]) -> IntArray:
    return np.array(sorted(some), dtype=np.int64)
