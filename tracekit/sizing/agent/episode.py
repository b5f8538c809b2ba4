"""One epoch of training: decide, run, remember, hand rewards back, learn."""

from typing import Any, Literal, Protocol

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.sizing.agent.memory import Batch, Memory
from tracekit.sizing.agent.network import act, torch_ready
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.world.arrays import CYCLES_SEEN
from tracekit.sizing.world.kernels import CHANNELS
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simulation import Simulation

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


class Agent(Protocol):
    """The interface of the agent in training, as an epoch needs it."""

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


def double_target(
    reward: Float32Array | float,
    gamma: float,
    q_next: Float32Array,
    q_target_next: Float32Array,
    *,
    allowed: BoolArray | None = None,
) -> FloatArray:
    """Eq 4: ``y = r + gamma q_target(s', argmax_a q(s', a))``.

    Parameters
    ----------
    q_next, q_target_next : array, shape (..., actions)
        Of the network that learns, and of the target network.
    allowed : bool, shape (..., actions), optional
        Sizes that can be chosen in the next state.
    """
    compared = q_next if allowed is None else np.where(allowed, q_next, -np.inf)
    best = np.argmax(compared, axis=-1)[..., None]
    following = np.take_along_axis(np.asarray(q_target_next), best, axis=-1)[..., 0]
    return np.asarray(reward + gamma * following)


class Learner:
    """The network that learns, its target, and Adam."""

    def __init__(self, network: Any, target: Any, *, gamma: float, rate: float) -> None:
        self._torch = torch_ready()
        self.network, self.target = network, target
        self.target.load_state_dict(network.state_dict())
        self._gamma = gamma
        self.optimizer = self._torch.optim.Adam(network.parameters(), lr=rate, fused=True)

    def values(self, states: Float32Array) -> Float32Array:
        """The q of every size, shape (states, actions)."""
        with self._torch.inference_mode():
            found: Float32Array = act(self.network, self._torch.from_numpy(states)).numpy()
        return found

    def update(self, batch: Batch) -> tuple[FloatArray, float]:
        """Learn from a batch; each transition's error, and the loss."""
        torch = self._torch
        with torch.inference_mode():
            following = torch.from_numpy(batch.following)
            q_next, q_target = self.network(following).numpy(), self.target(following).numpy()
        wanted = double_target(
            batch.rewards, self._gamma, q_next, q_target, allowed=batch.allowed
        ).astype(np.float32)
        q = self.network(torch.from_numpy(batch.states))
        taken = q.gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
        y = torch.from_numpy(wanted)
        losses = torch.nn.functional.smooth_l1_loss(taken, y, reduction="none")
        loss = (losses * torch.from_numpy(batch.weights)).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return (wanted - taken.detach().numpy()).astype(np.float64), loss.item()

    def sync(self) -> None:
        """Copy the network to the target."""
        self.target.load_state_dict(self.network.state_dict())
