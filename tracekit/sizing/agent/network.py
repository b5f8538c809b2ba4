"""The agent's network in torch, and its memory of transitions.

The network has five convolutions over cycles, two dense layers, and one q for each size. The memory
is proportional prioritised replay: transitions of larger errors are drawn more often (Schaul 2016).
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.jit import compiled
from tracekit.sizing.weights import CONVOLUTIONS, DENSE, KERNEL

#: The exponent of priorities, and an offset that keeps them above 0.
ALPHA, LEAST = 0.6, 1e-6


@dataclass(frozen=True)
class Batch:
    """Transitions drawn from a ``Memory`` for one update, with weights of importance sampling."""

    slots: IntArray
    states: Float32Array
    actions: IntArray
    rewards: Float32Array
    following: Float32Array
    allowed: BoolArray
    weights: Float32Array


class Memory:
    """The agent's replay memory: a ring of transitions, and a sum tree of their priorities."""

    def __init__(self, capacity: int, shape: tuple[int, int], actions: int) -> None:
        self.capacity = capacity
        self.states = np.zeros((capacity, *shape), dtype=np.float32)
        self.following = np.zeros((capacity, *shape), dtype=np.float32)
        self.actions = np.zeros(capacity, dtype=np.int64)
        self.rewards = np.zeros(capacity, dtype=np.float64)
        self.allowed = np.zeros((capacity, actions), dtype=np.bool_)
        self._leaves = 1 << (capacity - 1).bit_length()
        self.tree = np.zeros(2 * self._leaves)
        self.count, self.newest, self.highest = 0, 0, 1.0

    def add(
        self,
        states: Float32Array,
        actions: IntArray,
        rewards: FloatArray,
        following: Float32Array,
        allowed: BoolArray,
    ) -> IntArray:
        """Store transitions with the highest priority so far, and return their slots."""
        slots = (self.newest + np.arange(len(actions))) % self.capacity
        self.states[slots], self.following[slots] = states, following
        self.actions[slots], self.rewards[slots] = actions, rewards
        self.allowed[slots] = allowed
        self.newest = int((self.newest + len(actions)) % self.capacity)
        self.count = min(self.count + len(actions), self.capacity)
        self._set(slots, np.full(len(slots), self.highest))
        return slots

    def draw(self, size: int, beta: float, rng: np.random.Generator) -> Batch:
        """Draw ``size`` transitions at random, with chances in proportion to their priorities.

        Their weights are ``(count * chance) ** -beta``, divided by the largest weight.
        """
        total = self.tree[1]
        leaves = find(self.tree, (np.arange(size) + rng.random(size)) / size * total)
        # rounding may give a leaf after the last stored transition
        slots = np.minimum(leaves, self.count - 1)
        chances = self.tree[slots + self._leaves] / total
        weights = (self.count * chances) ** -beta
        return Batch(
            slots=slots,
            states=self.states[slots],
            actions=self.actions[slots],
            rewards=self.rewards[slots].astype(np.float32),
            following=self.following[slots],
            allowed=self.allowed[slots],
            weights=(weights / weights.max()).astype(np.float32),
        )

    def surprise(self, slots: IntArray, errors: FloatArray) -> None:
        """Set the priorities of slots from their errors: ``(|error| + 1e-6) ** 0.6``."""
        priorities = (np.abs(errors) + LEAST) ** ALPHA
        self.highest = max(self.highest, float(priorities.max()))
        self._set(slots, priorities)

    def _set(self, slots: IntArray, priorities: FloatArray) -> None:
        plant(self.tree, slots + self._leaves, priorities)


@compiled
def plant(tree: FloatArray, places: IntArray, values: FloatArray) -> None:
    """Set leaves at positions ``places`` of a sum tree, and update the sums above them."""
    for k in range(len(places)):
        tree[places[k]] = values[k]
    for k in range(len(places)):
        place = places[k] // 2
        while place:
            tree[place] = tree[2 * place] + tree[2 * place + 1]
            place //= 2


@compiled
def find(tree: FloatArray, sums: FloatArray) -> IntArray:
    """Return for each of ``sums`` the first leaf, from 0, whose running sum exceeds it."""
    leaves = len(tree) // 2
    reached = np.empty(len(sums), dtype=np.int64)
    for k in range(len(sums)):
        place, left = 1, sums[k]
        while place < leaves:
            place *= 2
            if left >= tree[place]:
                left -= tree[place]
                place += 1
        reached[k] = place - leaves
    return reached


@functools.cache
def torch_ready() -> Any:
    """Import torch and return it, on one thread so that the order of sums is fixed."""
    torch = require("torch", "training the ddqn policy")
    torch.set_num_threads(1)
    return torch


def make_network(channels: int, cycles: int, actions: int, seed: int) -> Any:
    """Return an untrained torch network for q values; its weights depend on ``seed`` alone."""
    torch = torch_ready()
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[Any] = []
        width = channels
        for made in CONVOLUTIONS:
            layers += [nn.Conv1d(width, made, KERNEL, padding=KERNEL // 2), nn.ReLU()]
            width = made
        layers.append(nn.Flatten())
        width *= cycles
        for made in DENSE:
            layers += [nn.Linear(width, made), nn.ReLU()]
            width = made
        layers.append(nn.Linear(width, actions))
        return nn.Sequential(*layers)


def act(network: Any, states: Any) -> Any:
    """Compute ``network(states)`` up to rounding, in half the time for a few states.

    Each convolution is one product of matrices over three adjacent cycles.
    """
    torch = torch_ready()
    given = list(network.parameters())
    flowing = states.transpose(1, 2)
    cycles = flowing.shape[1]
    for at in range(len(CONVOLUTIONS)):
        weight, bias = given[2 * at], given[2 * at + 1]
        windows = torch.nn.functional.pad(flowing, (0, 0, 1, 1)).unfold(1, KERNEL, 1)
        flat = windows.reshape(len(states) * cycles, -1)
        made = torch.addmm(bias, flat, weight.reshape(len(bias), -1).T)
        flowing = made.relu_().reshape(len(states), cycles, -1)
    flat = flowing.transpose(1, 2).flatten(1)
    for weight, bias in zip(given[-6:-2:2], given[-5:-2:2], strict=True):
        flat = torch.addmm(bias, flat, weight.T).relu_()
    return torch.addmm(given[-1], flat, given[-2].T)


@functools.cache
def _names() -> tuple[str, ...]:
    layers = [f"conv{at}" for at in range(len(CONVOLUTIONS))]
    layers += [f"dense{at}" for at in range(len(DENSE) + 1)]
    return tuple(f"{layer}.{part}" for layer in layers for part in ("weight", "bias"))


def layers_of(network: Any) -> dict[str, Float32Array]:
    """Return the weights and biases of a torch network, named as in ``weights.layer_shapes``."""
    layers = zip(_names(), network.parameters(), strict=True)
    return {name: np.array(value.detach().numpy(), dtype=np.float32) for name, value in layers}


# Modules of the extra ``rl``.

#: Installs torch without the libraries for GPUs, which take gigabytes.
CPU_ONLY = "uv pip install torch --torch-backend=cpu"


def require(module: str, what: str) -> Any:
    """Import a module of the extra ``rl``, and return it.

    Raises TracekitError if it is not installed. The message says that ``what`` needs the module.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise TracekitError(
            f"{what} needs {module}, which is not installed; the other policies work without",
            hint=f"pip install 'tracekit[rl]'; on Linux without a GPU before that: {CPU_ONLY}",
        ) from None
