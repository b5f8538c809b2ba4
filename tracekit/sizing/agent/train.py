"""Training: epochs of a few chains each, all their containers learning into one network."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.sizing.agent.episode import Learner, Running
from tracekit.sizing.agent.memory import Memory
from tracekit.sizing.agent.network import layers_of, make_network
from tracekit.sizing.network.explore import explore, one_step
from tracekit.sizing.network.weights import Model
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.simulate import simulate
from tracekit.sizing.world.arrays import CYCLES_SEEN
from tracekit.sizing.world.kernels import CHANNELS
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simset import SimulationSet
from tracekit.sizing.world.simulation import Simulation

#: Importance sampling is corrected from this share at first to all of it at the end.
FIRST_BETA = 0.4
#: The phase in which the agent learns on a few chains alone.
PRETRAINING = "pretraining"


@dataclass(frozen=True)
class Epoch:
    """The result of one epoch; ``reward`` is a container's sum over its cycles, on average."""

    phase: str
    epoch: int
    containers: int
    cycles: int
    overflow_share: float
    reward: float
    loss: float


class Trainer:
    """An agent in training; ``run_epoch`` takes it one epoch further.

    Same set, settings, policy and seed: the same network, bit by bit, on one machine.
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
        """Epochs in all, pretraining included."""
        return self.policy.pretraining + self.policy.epochs

    def model(self) -> Model:
        """The network that did best so far, or the one of now where none was tried."""
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
        """Put the network of now through the small set; keep it if none did better."""
        layers = layers_of(self.learner.network)
        model = Model(layers, CHANNELS, CYCLES_SEEN, self.settings.actions)
        # the policy draws nothing when it does not explore
        unused = np.random.default_rng(0)
        trial = Simulation(self._small, self.settings)
        reward = simulate(trial, self.policy, rng=unused, model=model)
        if self.best is None or reward > self.best[0]:
            self.best = reward, layers

    def run_epoch(self) -> Epoch:
        """One epoch of at most ``steps`` cycles a container."""
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
        """Chains in random order, as many as the epoch has room for."""
        order = self.rng.permutation(self._chains.chains())
        sizes = np.array([(self._chains.chain == chain).sum() for chain in order])
        room = np.cumsum(sizes) <= self.policy.epoch_containers
        return self._chains.of_chains(order[: max(int(room.sum()), 1)])

    def allowed(self, simulation: Simulation, containers: IntArray) -> BoolArray:
        """The sizes containers could have now."""
        could = simulation.possible(containers)
        if self.policy.mask == "step":
            could = one_step(could, simulation.arrays.limit[containers], self.sizes)
        return could

    def choose(self, simulation: Simulation) -> IntArray:
        """Sizes for the containers due, by the upper bound of eq 10."""
        allowed = self.allowed(simulation, simulation.due)
        q = self.learner.values(simulation.state(simulation.due))
        return explore(q, allowed, self.taken, self.policy.exploration)

    def learn(self) -> float | None:
        """One update, once enough is remembered; its loss."""
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
