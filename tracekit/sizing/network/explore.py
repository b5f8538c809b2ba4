"""Which size is tried: eq 10 of the study as printed, which is not UCB1: it has no logarithm."""

from collections.abc import Mapping

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.jit import compiled
from tracekit.sizing.network.weights import CONVOLUTIONS, DENSE, Model


@compiled
def bounds(q: FloatArray, taken: IntArray, weight: float) -> FloatArray:
    """``q_a + c sqrt(n) / n_a``, infinite for a size never taken; n is the sum of n_a."""
    out = np.empty(len(q))
    root = np.sqrt(float(taken.sum()))
    for action in range(len(q)):
        out[action] = q[action] + weight * root / taken[action] if taken[action] else np.inf
    return out


@compiled
def explore(q: Float32Array, allowed: BoolArray, taken: IntArray, weight: float) -> IntArray:
    """A size for each row, one after another, each counted before the next; ties to the lowest.

    Parameters
    ----------
    q : float32, shape (decisions, actions)
    allowed : bool, shape (decisions, actions)
    taken : int64, shape (actions,), changed
        How often each size was taken by this agent, wherever.
    """
    chosen = np.zeros(len(q), dtype=np.int64)
    for row in range(len(q)):
        upper = bounds(q[row].astype(np.float64), taken, weight)
        best = -1
        for action in range(len(upper)):
            if allowed[row, action] and (best < 0 or upper[action] > upper[best]):
                best = action
        chosen[row] = best
        taken[best] += 1
    return chosen


def greedy(q: Float32Array, allowed: BoolArray) -> IntArray:
    """The allowed size of the largest q of each row; ties to the lowest."""
    return np.asarray(np.argmax(np.where(allowed, q, -np.inf), axis=1), dtype=np.int64)


def one_step(allowed: BoolArray, limit: FloatArray, sizes: FloatArray) -> BoolArray:
    """The allowed sizes at most one core and one GB from the present limit."""
    near = (np.abs(sizes[None] - limit[:, None]) <= 1).all(axis=2)
    return allowed & near


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
