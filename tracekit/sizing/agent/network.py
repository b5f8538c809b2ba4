"""The network in torch: five convolutions over cycles, two dense layers, one q per size."""

import functools
import importlib
from typing import Any

import numpy as np

from tracekit.base.arrays import Float32Array
from tracekit.base.errors import TracekitError
from tracekit.sizing.network.weights import CONVOLUTIONS, DENSE, KERNEL


@functools.cache
def torch_ready() -> Any:
    """Library torch on one thread, so that sums are taken in one order."""
    torch = require("torch", "training the ddqn policy")
    torch.set_num_threads(1)
    return torch


def make_network(channels: int, cycles: int, actions: int, seed: int) -> Any:
    """A fresh network; its first weights depend on the seed alone."""
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
    """``network(states)`` up to rounding, in half the time for a few states.

    Each convolution as one product of matrices: over the three cycles beside each other.
    """
    torch = torch_ready()
    given = list(network.parameters())
    flowing = states.transpose(1, 2)
    cycles = flowing.shape[1]
    for at in range(len(CONVOLUTIONS)):
        weight, bias = given[2 * at], given[2 * at + 1]
        near = torch.nn.functional.pad(flowing, (0, 0, 1, 1)).unfold(1, KERNEL, 1)
        flat = near.reshape(len(states) * cycles, -1)
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
    """Weights and biases by the names of ``network.weights.layer_shapes``."""
    found = zip(_names(), network.parameters(), strict=True)
    return {name: np.array(value.detach().numpy(), dtype=np.float32) for name, value in found}


# Importing what the extra ``rl`` brings, or saying how to get it.

#: The default build of torch on Linux brings gigabytes of libraries for GPUs; this one does not.
CPU_ONLY = "uv pip install torch --torch-backend=cpu"


def require(module: str, what: str) -> Any:
    """The module; raises TracekitError that says what needs it and what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise TracekitError(
            f"{what} needs {module}, which is not installed; the other policies work without",
            hint=f"pip install 'tracekit[rl]'; on Linux without a GPU before that: {CPU_ONLY}",
        ) from None
