"""The environment in gymnasium's API, for agents other than ours; needs the extra ``rl``."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.sizing.policies import Given, SizingPolicy
from tracekit.sizing.policies.simple import MinimumSelection
from tracekit.sizing.world.periods import CHANNELS, INFEASIBLE
from tracekit.sizing.world.simset import CYCLES_SEEN, Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation, View

#: Cycles of an episode.
STEPS = 64
State = Float32Array


def _observations() -> Any:
    """The box of observations: shares in 0..1, and log1p of a throughput over 10."""
    return Box(0.0, 10.0, (CHANNELS, CYCLES_SEEN), dtype=np.float32)


class SizingEnv(gymnasium.Env[State, np.int64]):
    """A gymnasium environment in which the agent sets the limits of one container among others.

    The actions 0..15 are the sizes (1, 1) to (4, 4) in cores and GB. A step is a decision cycle.
    ``info['action_mask']`` marks the sizes for which a node has room. Another size leaves the limit
    as it is, and ``info['infeasible']`` is then true. An episode is truncated after 64 cycles or at
    the end of the trace; it never terminates.

    Parameters
    ----------
    part : SimulationSet
    companions : SizingPolicy
        The policy of the other containers; it may read 'served' and 'state'.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - gymnasium's own attribute

    def __init__(
        self,
        part: SimulationSet,
        settings: Settings | None = None,
        companions: SizingPolicy | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._companions = companions or MinimumSelection()
        self._simulation = Simulation(part, self._settings)
        self._sizes = self._settings.sizes()
        self.observation_space = _observations()
        self.action_space = Discrete(self._settings.actions)
        self._agent = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Begin at a random period with a random container, or with ``options['container']``."""
        super().reset(seed=seed)
        part = self._simulation.part
        given = (options or {}).get("container")
        self._agent = int(self.np_random.integers(part.size)) if given is None else int(given)
        latest = max(part.periods - STEPS * self._settings.cycle_periods, 0)
        self._simulation.reset(start=int(self.np_random.integers(latest + 1)))
        given_to = Given(
            containers=part.size,
            period_ms=int(part.times_ms[1] - part.times_ms[0]),
            settings=self._settings,
            rng=self.np_random,
        )
        self._sizer = self._companions.start(given_to)
        return self._state(), self._info(infeasible=False)

    def step(self, action: np.int64) -> tuple[State, float, bool, bool, dict[str, Any]]:
        """Set the limit, and run to the end of the container's cycle."""
        simulation = self._simulation
        own = self._sizes[int(action)]
        infeasible = bool(self._decide(own)[simulation.due == self._agent][0] == INFEASIBLE)
        simulation.advance()
        while self._agent not in simulation.ended:
            self._decide(own)
            simulation.advance()
        reward = float(simulation.rewards[simulation.ended == self._agent][0])
        full = bool(simulation.cycles[self._agent] >= STEPS)
        return self._state(), reward, False, full or simulation.done, self._info(infeasible)

    def _decide(self, own: FloatArray) -> IntArray:
        """Set the limits of all due containers; returns the outcome of each."""
        simulation = self._simulation
        if not len(simulation.due):
            return np.empty(0, dtype=np.int64)
        wanted = self._sizer.size(View(simulation)).copy()
        wanted[simulation.due == self._agent] = own
        return simulation.apply(wanted)

    def _state(self) -> State:
        state: State = self._simulation.state(np.array([self._agent]))[0]
        return state

    def _info(self, infeasible: bool) -> dict[str, Any]:
        could = self._simulation.possible(np.array([self._agent]))[0]
        return {
            "action_mask": could.astype(np.int8),
            "container": self._simulation.part.containers[self._agent],
            "infeasible": infeasible,
        }


class SizingVectorEnv(VectorEnv[Float32Array, IntArray, NDArray[Any]]):
    """A gymnasium vector environment of all containers of a set, each with its own action.

    A step runs to the next end of a cycle. ``info['due']`` marks the containers whose cycles ended:
    they get a reward, and their next actions count. Actions of other containers are ignored.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - same

    def __init__(self, part: SimulationSet, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._simulation = Simulation(part, self._settings)
        self._sizes = self._settings.sizes()
        self.num_envs = part.size
        self.single_observation_space = _observations()
        self.single_action_space = Discrete(self._settings.actions)
        self.observation_space = batch_space(self.single_observation_space, part.size)
        self.action_space = batch_space(self.single_action_space, part.size)
        self._everyone = np.arange(part.size)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Begin at the first period, or at ``options['start']``, without random draws."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._simulation.reset(start=int((options or {}).get("start", 0)))
        return self._simulation.state(self._everyone), self._info()

    def step(
        self, actions: IntArray
    ) -> tuple[State, FloatArray, BoolArray, BoolArray, dict[str, Any]]:
        """Apply the actions of the due containers, and run until containers are due again."""
        simulation = self._simulation
        rewards, never = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=np.bool_)
        if simulation.done:
            state, info = self.reset()
            return state, rewards, never, never, info
        simulation.apply(self._sizes[np.asarray(actions)[simulation.due]])
        simulation.advance()
        rewards[simulation.ended] = simulation.rewards
        over = np.full(self.num_envs, simulation.done)
        return simulation.state(self._everyone), rewards, never, over, self._info()

    def _info(self) -> dict[str, Any]:
        due = np.zeros(self.num_envs, dtype=np.bool_)
        due[self._simulation.due] = True
        return {"due": due}
