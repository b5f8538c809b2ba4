"""Rewards handed back to the decisions before: eq 14 of the study."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.sizing.agent.memory import Memory

Form = Literal["root", "gamma", "off"]


def handed_back(reward: FloatArray, steps_back: int, form: Form, gamma: float) -> FloatArray:
    """``r_t`` as a decision so many steps before t gets it.

    root: ``sgn(r) |r| ** (1 / (t - i + 1))``, eq 14 with the sign kept, since roots of -C are
    complex; for |r| < 1 it grows with the distance. gamma: ``r gamma ** (t - i)``.
    """
    if form == "gamma":
        return reward * gamma**steps_back
    if form == "off":
        return np.zeros_like(reward)
    return np.sign(reward) * np.abs(reward) ** (1.0 / (steps_back + 1))


class Backdater:
    """Remembers where each container's last transitions lie, and adds to their rewards."""

    def __init__(self, containers: int, form: Form, gamma: float, steps: int) -> None:
        self._form, self._gamma = form, gamma
        self._steps = 0 if form == "off" else steps
        self._slots = np.full((containers, max(self._steps, 1)), -1, dtype=np.int64)

    def add(
        self, memory: Memory, containers: IntArray, slots: IntArray, reward: FloatArray
    ) -> None:
        """Hand the reward of transitions just stored back, each share 1 / steps."""
        for back in range(1, self._steps + 1):
            before = self._slots[containers, -back]
            there = before >= 0
            share = handed_back(reward[there], back, self._form, self._gamma) / self._steps
            np.add.at(memory.rewards, before[there], share)
        self._slots[containers] = np.roll(self._slots[containers], -1, axis=1)
        self._slots[containers, -1] = slots
