"""Gangs that wait: members that hold nodes for those still to come, and gangs that step back.

Source: scheduler-plugins 903da7df pkg/coscheduling (Permit, Unreserve, podGroupBackoff).
"""

from __future__ import annotations

from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.workload.workload import Workload


class Patience:
    """Until when gangs hold nodes, and until when they are not tried.

    Attributes
    ----------
    clocks : bool
        Whether any clock may ever run.
    holding : dict of int to list of int
        The members of each gang that hold nodes, and do not run yet.
    """

    def __init__(self, load: Workload, policy: PlacementPolicy) -> None:
        own = policy.gang_wait_ms, policy.gang_backoff_ms
        if load.gang is None:
            own = 0, 0
        self.wait_ms = load.gang_wait_ms if own[0] is None else own[0]
        self.backoff_ms = load.gang_backoff_ms if own[1] is None else own[1]
        self.clocks = bool(self.wait_ms or self.backoff_ms)
        self.holding: dict[int, list[int]] = {}
        self._release: dict[int, int] = {}
        self._again: dict[int, int] = {}

    def hold(self, gang: int, members: list[int], now: int) -> None:
        """Members hold nodes; the first of a gang starts its clock."""
        self.holding.setdefault(gang, []).extend(members)
        self._release.setdefault(gang, now + self.wait_ms)

    def begun(self, gang: int) -> list[int]:
        """The gang has begun, or is gone: who held nodes of it."""
        self._release.pop(gang, None)
        return self.holding.pop(gang, [])

    def step_back(self, gang: int, now: int) -> None:
        """The gang could not begin."""
        if self.backoff_ms:
            self._again[gang] = now + self.backoff_ms

    def backed_off(self, gang: int, now: int) -> bool:
        """Whether the gang is not to be tried now."""
        return now < self._again.get(gang, now)

    def next_ms(self) -> int | None:
        """When something is due, None for never."""
        return min([*self._release.values(), *self._again.values()], default=None)

    def due(self, now: int) -> tuple[list[int], bool]:
        """The gangs whose members let go of their nodes now, and whether any may be tried again."""
        over = sorted(gang for gang, when in self._release.items() if when <= now)
        free = [gang for gang, when in self._again.items() if when <= now]
        for gang in free:
            del self._again[gang]
        return over, bool(free)
