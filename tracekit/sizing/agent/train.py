"""Training: epochs of a few call chains, whose containers all train one network."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.sizing.agent.network import Batch, Memory, act, layers_of, make_network, torch_ready
from tracekit.sizing.policies import simulate
from tracekit.sizing.policies.simple import Ddqn
from tracekit.sizing.weights import Model, explore, one_step
from tracekit.sizing.world.periods import CHANNELS
from tracekit.sizing.world.simset import CYCLES_SEEN, Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation

#: The first exponent of the correction of importance sampling; the last is 1.
FIRST_BETA = 0.4
#: The phase of training on a few chains.
PRETRAINING = "pretraining"


@dataclass(frozen=True)
class Epoch:
    """The result of one epoch; ``reward`` is the mean over containers of their summed rewards."""

    phase: str
    epoch: int
    containers: int
    cycles: int
    overflow_share: float
    reward: float
    loss: float


class Trainer:
    """An agent in training, with its network and memory; ``run_epoch`` trains it further.

    The same set, settings, policy and seed give the same network to the bit on one machine.
    """

    def __init__(
        self, chains: SimulationSet, settings: Settings, policy: Ddqn, *, seed: int
    ) -> None:
        self._chains, self.settings, self.policy, self.seed = chains, settings, policy, seed
        self.rng = np.random.default_rng([seed, 1])
        shape, actions = (CHANNELS, CYCLES_SEEN), settings.actions
        self.sizes = settings.sizes()
        self.memory = Memory(policy.buffer, shape, actions)
        self.learner = Learner(
            make_network(*shape, actions, seed),
            make_network(*shape, actions, seed),
            gamma=policy.gamma,
            rate=policy.learning_rate,
        )
        self.taken = np.zeros(actions, dtype=np.int64)
        self.updates, self.done = 0, 0
        self.best: tuple[float, dict[str, Float32Array]] | None = None
        small = self.rng.permutation(chains.chains())[: policy.pretraining_chains]
        self._small = chains.of_chains(np.sort(small))

    @property
    def epochs(self) -> int:
        """The number of epochs of the whole training, including pretraining."""
        return self.policy.pretraining + self.policy.epochs

    def model(self) -> Model:
        """Return the network of the best trial so far, or the present network before any trial.

        A trial runs the network on a small set of chains without exploration.
        """
        about = {
            "trained_on": list(self._chains.containers),
            "set": self._chains.name,
            "policy": str(self.policy),
            "seed": self.seed,
            "epochs": self.done,
        }
        layers = layers_of(self.learner.network) if self.best is None else self.best[1]
        return Model(layers, CHANNELS, CYCLES_SEEN, self.settings.actions, about=about)

    def _try(self) -> None:
        """Run the present network on the small set, and store it if it is the best so far."""
        layers = layers_of(self.learner.network)
        model = Model(layers, CHANNELS, CYCLES_SEEN, self.settings.actions)
        # the policy draws no numbers without exploration
        unused = np.random.default_rng(0)
        trial = Simulation(self._small, self.settings)
        reward = simulate(trial, self.policy, rng=unused, model=model)
        if self.best is None or reward > self.best[0]:
            self.best = reward, layers

    def run_epoch(self) -> Epoch:
        """Simulate some chains, at most ``steps`` cycles of each container, and train on them."""
        pretraining = self.done < self.policy.pretraining
        part = self._small if pretraining else self._drawn()
        simulation = Simulation(part, self.settings)
        longest = self.policy.steps * self.settings.cycle_periods
        latest = max(part.periods - longest, 0)
        simulation.reset(start=int(self.rng.integers(latest + 1)), steps=self.policy.steps)
        if self.policy.counts == "epoch":
            self.taken[:] = 0
        epoch = Running(self, simulation)
        epoch.run()
        self.done += 1
        every = self.policy.validate_every
        if every and (self.done % every == 0 or self.done == self.epochs):
            self._try()
        return Epoch(
            phase=PRETRAINING if pretraining else "training",
            epoch=self.done,
            containers=part.size,
            cycles=int(simulation.cycles.sum()),
            overflow_share=float(simulation.overflow_cycles.sum() / simulation.cycles.sum()),
            reward=epoch.reward / part.size,
            loss=float(np.mean(epoch.losses)) if epoch.losses else float("nan"),
        )

    def _drawn(self) -> SimulationSet:
        """Random chains, up to the containers of an epoch."""
        order = self.rng.permutation(self._chains.chains())
        sizes = np.array([(self._chains.chain == chain).sum() for chain in order])
        room = np.cumsum(sizes) <= self.policy.epoch_containers
        return self._chains.of_chains(order[: max(int(room.sum()), 1)])

    def allowed(self, simulation: Simulation, containers: IntArray) -> BoolArray:
        """Return which sizes the policy may choose for containers, shape (containers, actions)."""
        could = simulation.possible(containers)
        if self.policy.mask == "step":
            could = one_step(could, simulation.arrays.limit[containers], self.sizes)
        return could

    def choose(self, simulation: Simulation) -> IntArray:
        """Return the index of a size for each due container, chosen by the upper bound of eq 10."""
        allowed = self.allowed(simulation, simulation.due)
        q = self.learner.values(simulation.state(simulation.due))
        return explore(q, allowed, self.taken, self.policy.exploration)

    def learn(self) -> float | None:
        """Update the network once and return the loss; None before ``start_after`` transitions."""
        if self.memory.count < self.policy.start_after:
            return None
        through = min(self.done / max(self.epochs, 1), 1.0)
        beta = FIRST_BETA + (1 - FIRST_BETA) * through
        batch = self.memory.draw(self.policy.batch, beta, self.rng)
        errors, loss = self.learner.update(batch)
        self.memory.surprise(batch.slots, errors)
        self.updates += 1
        if self.updates % self.policy.sync == 0:
            self.learner.sync()
        return loss


# One epoch of training: decide, run, store transitions, hand rewards back, learn.

Form = Literal["root", "gamma", "off"]


def credited_reward(reward: FloatArray, steps_back: int, form: Form, gamma: float) -> FloatArray:
    """Return the part of a reward r credited to the decision n = ``steps_back`` steps before.

    The form 'root' gives ``sgn(r) |r| ** (1 / (n + 1))``: eq 14 with the sign of r, as roots of a
    negative r are complex. 'gamma' gives ``r gamma ** n``, and 'off' gives 0.
    """
    if form == "gamma":
        return reward * gamma**steps_back
    if form == "off":
        return np.zeros_like(reward)
    return np.sign(reward) * np.abs(reward) ** (1.0 / (steps_back + 1))


class RewardCredit:
    """Adds a part of each new reward to the stored rewards of the container's last decisions."""

    def __init__(self, containers: int, form: Form, gamma: float, steps: int) -> None:
        self._form, self._gamma = form, gamma
        self._steps = 0 if form == "off" else steps
        self._slots = np.full((containers, max(self._steps, 1)), -1, dtype=np.int64)

    def add(
        self, memory: Memory, containers: IntArray, slots: IntArray, reward: FloatArray
    ) -> None:
        """Add ``credited_reward(...) / steps`` of new rewards to containers' last transitions."""
        for back in range(1, self._steps + 1):
            before = self._slots[containers, -back]
            stored = before >= 0
            share = credited_reward(reward[stored], back, self._form, self._gamma) / self._steps
            np.add.at(memory.rewards, before[stored], share)
        self._slots[containers] = np.roll(self._slots[containers], -1, axis=1)
        self._slots[containers, -1] = slots


class Agent(Protocol):
    """The interface of ``Trainer`` that ``Running`` uses."""

    policy: Ddqn
    settings: Settings
    sizes: FloatArray
    memory: Memory

    def choose(self, simulation: Simulation) -> IntArray:
        """Return the index of the size chosen for each due container."""

    def allowed(self, simulation: Simulation, containers: IntArray) -> BoolArray:
        """Return which sizes may be chosen for containers, shape (containers, actions)."""

    def learn(self) -> float | None:
        """Update the network once and return the loss; None with too few stored transitions."""


class Running:
    """One epoch of training: sets limits, simulates, stores transitions, updates the network."""

    def __init__(self, trainer: Agent, simulation: Simulation) -> None:
        self._trainer, self._simulation = trainer, simulation
        policy, size = trainer.policy, simulation.part.size
        self._states = np.zeros((size, CHANNELS, CYCLES_SEEN), dtype=np.float32)
        self._actions = np.zeros(size, dtype=np.int64)
        self._back = RewardCredit(size, policy.backprop, policy.gamma, policy.backprop_steps)
        self._owed = 0.0
        self.reward = 0.0
        self.losses: list[float] = []

    def run(self) -> None:
        """Run the epoch until its simulation is done."""
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
        # without room the limit did not change, and the action is that of the old limit
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
        # one update for as many ended cycles as there are containers
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
    """Return the target of eq 4: ``y = r + gamma q_target(s', argmax_a q(s', a))``.

    Parameters
    ----------
    q_next, q_target_next : array, shape (..., actions)
        The values in the next state s' by the learning network, and by the target network.
    allowed : bool, shape (..., actions), optional
        The possible sizes in the next state.
    """
    compared = q_next if allowed is None else np.where(allowed, q_next, -np.inf)
    best = np.argmax(compared, axis=-1)[..., None]
    following = np.take_along_axis(np.asarray(q_target_next), best, axis=-1)[..., 0]
    return np.asarray(reward + gamma * following)


class Learner:
    """The network that learns, with its target network and the optimizer Adam."""

    def __init__(self, network: Any, target: Any, *, gamma: float, rate: float) -> None:
        self._torch = torch_ready()
        self.network, self.target = network, target
        self.target.load_state_dict(network.state_dict())
        self._gamma = gamma
        self.optimizer = self._torch.optim.Adam(network.parameters(), lr=rate, fused=True)

    def values(self, states: Float32Array) -> Float32Array:
        """Return the learning network's q value of every size, shape (states, actions)."""
        with self._torch.inference_mode():
            q: Float32Array = act(self.network, self._torch.from_numpy(states)).numpy()
        return q

    def update(self, batch: Batch) -> tuple[FloatArray, float]:
        """Do one step of Adam on a batch; return the error of each transition, and the loss."""
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
        """Copy the learning network to the target network."""
        self.target.load_state_dict(self.network.state_dict())
