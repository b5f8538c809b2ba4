"""One epoch as it runs: decide, run, remember, learn."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.sizing.agent.backdate import Backdater
from tracekit.sizing.agent.memory import Memory
from tracekit.sizing.kernels import CHANNELS
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.settings import Settings
from tracekit.sizing.simulation import Simulation
from tracekit.sizing.world import CYCLES_SEEN


class Agent(Protocol):
    """What an epoch asks of the agent in training."""

    policy: Ddqn
    settings: Settings
    sizes: FloatArray
    memory: Memory

    def choose(self, simulation: Simulation) -> IntArray:
        """Sizes for the containers due."""

    def allowed(self, simulation: Simulation, containers: IntArray) -> BoolArray:
        """The sizes containers could have now."""

    def learn(self) -> float | None:
        """One update of the network; its loss, None while the memory has too little."""


class Running:
    """One epoch as it runs: what each container saw and did last, until its cycle ends."""

    def __init__(self, trainer: Agent, simulation: Simulation) -> None:
        self._trainer, self._simulation = trainer, simulation
        policy, size = trainer.policy, simulation.part.size
        self._states = np.zeros((size, CHANNELS, CYCLES_SEEN), dtype=np.float32)
        self._actions = np.zeros(size, dtype=np.int64)
        self._back = Backdater(size, policy.backprop, policy.gamma, policy.backprop_steps)
        self._owed = 0.0
        self.reward = 0.0
        self.losses: list[float] = []

    def run(self) -> None:
        """Decide, run, remember, learn, until every container had its cycles."""
        simulation = self._simulation
        while not simulation.done:
            if len(simulation.due):
                self._decide()
            simulation.advance()
            if len(simulation.ended):
                self._remember()

    def _decide(self) -> None:
        simulation = self._simulation
        due = simulation.due
        chosen = self._trainer.choose(simulation)
        self._states[due] = simulation.state(due)
        simulation.apply(self._trainer.sizes[chosen])
        # where there was no room after all, what was done is to keep
        self._actions[due] = self._trainer.settings.index_of(simulation.arrays.limit[due])

    def _remember(self) -> None:
        simulation, trainer = self._simulation, self._trainer
        ended, rewards = simulation.ended, simulation.rewards
        self.reward += float(rewards.sum())
        slots = trainer.memory.add(
            self._states[ended],
            self._actions[ended],
            rewards,
            simulation.state(ended),
            trainer.allowed(simulation, ended),
        )
        self._back.add(trainer.memory, ended, slots, rewards)
        # an update per step: a step is a cycle of all containers, and some cycles ended just now
        self._owed += len(ended) / simulation.part.size
        while self._owed >= 1:
            self._owed -= 1
            loss = trainer.learn()
            if loss is not None:
                self.losses.append(loss)
