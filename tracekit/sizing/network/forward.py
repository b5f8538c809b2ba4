"""A trained network used with numpy alone: evaluation needs no torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tracekit.arrays import Float32Array
from tracekit.sizing.network.weights import CONVOLUTIONS, DENSE, Model


def values(model: Model, states: Float32Array) -> Float32Array:
    """The q of every size, shape (states, actions), of states (states, channels, cycles)."""
    flowing = np.ascontiguousarray(states, dtype=np.float32)
    for at in range(len(CONVOLUTIONS)):
        flowing = np.maximum(_convolved(flowing, model.layers, at), 0)
    flowing = flowing.reshape(len(flowing), -1)
    for at in range(len(DENSE) + 1):
        layer = f"dense{at}"
        flowing = flowing @ model.layers[f"{layer}.weight"].T + model.layers[f"{layer}.bias"]
        flowing = np.maximum(flowing, 0) if at < len(DENSE) else flowing
    return flowing


def _convolved(flowing: Float32Array, layers: Mapping[str, Float32Array], at: int) -> Float32Array:
    """Convolution over cycles with one cycle of zeros on either side."""
    weight, bias = layers[f"conv{at}.weight"], layers[f"conv{at}.bias"]
    padded = np.pad(flowing, ((0, 0), (0, 0), (1, 1)))
    cycles = flowing.shape[2]
    rows = np.concatenate([padded[:, :, k : k + cycles] for k in range(3)], axis=1)
    flat = weight.transpose(0, 2, 1).reshape(len(weight), -1)
    made: Float32Array = np.matmul(flat, rows) + bias[:, None]
    return made
