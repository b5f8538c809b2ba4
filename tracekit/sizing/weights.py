"""A trained network as a file of named arrays, its values, and the choice of a size.

The choice in training is eq 10 of the study as printed, which has no logarithm and is not UCB1.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import replaced_file
from tracekit.base.jit import compiled

SCHEMA = "tracekit/sizing-model/1"
#: Channels of the five convolutions with kernel 3, and widths of the two dense layers, all ours.
CONVOLUTIONS = (32, 32, 64, 64, 64)
DENSE = (128, 64)
KERNEL = 3


def layer_shapes(channels: int, cycles: int, actions: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights and biases, by name, for states of (channels, cycles)."""
    shapes: dict[str, tuple[int, ...]] = {}
    width = channels
    for at, made in enumerate(CONVOLUTIONS):
        shapes |= {f"conv{at}.weight": (made, width, KERNEL), f"conv{at}.bias": (made,)}
        width = made
    width *= cycles
    for at, made in enumerate((*DENSE, actions)):
        shapes |= {f"dense{at}.weight": (made, width), f"dense{at}.bias": (made,)}
        width = made
    return shapes


@dataclass(frozen=True)
class Model:
    """A trained network of the agent, as arrays.

    Parameters
    ----------
    layers : mapping of str to float32 array
        Weights and biases by the names of ``layer_shapes``.
    channels, cycles, actions : int
        The shape of states, and the number of sizes.
    about : mapping
        Facts of its training; ``trained_on`` has the containers.
    """

    layers: Mapping[str, Float32Array]
    channels: int
    cycles: int
    actions: int
    about: Mapping[str, Any] = field(default_factory=dict)


def save_model(model: Model, path: Path) -> None:
    """Write a model atomically; equal models give equal bytes."""
    head = {
        "schema": SCHEMA,
        "channels": model.channels,
        "cycles": model.cycles,
        "actions": model.actions,
        "about": dict(model.about),
    }
    with replaced_file(path, follow=False) as made, made.open("wb") as file:
        np.savez(file, allow_pickle=False, **{"head": np.array(json.dumps(head)), **model.layers})


def load_model(path: Path, *, channels: int, cycles: int, actions: int) -> Model:
    """Read a model for states of (channels, cycles) and a number of sizes.

    Raises TracekitError for a file that is no model, or a model of another shape.
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(str(arrays.pop("head")))
        shape = {SCHEMA: (head["channels"], head["cycles"], head["actions"])}[head["schema"]]
    except FileNotFoundError:
        raise TracekitError(
            f"no such model file: {path}",
            hint="train one: tracekit requests STORE --by calls --out RUN",
        ) from None
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise TracekitError(
            f"{path} is not a model that tracekit wrote ({type(error).__name__})",
            hint="give the file models/seed-N.npz of a sizing run",
        ) from None
    expected = channels, cycles, actions
    layers = {name: np.asarray(value, dtype=np.float32) for name, value in arrays.items()}
    shapes = {name: value.shape for name, value in layers.items()}
    if shape != expected or shapes != layer_shapes(*expected):
        raise TracekitError(
            f"{path} is a model of another shape: {shape[0]} channels x {shape[1]} cycles,"
            f" {shape[2]} sizes; these settings need {channels} x {cycles}, {actions}",
            hint="use the settings it was trained with, or train a new one",
        )
    return Model(layers, *expected, about=head["about"])


@compiled
def bounds(q: FloatArray, taken: IntArray, weight: float) -> FloatArray:
    """Return the upper bound ``q_a + c sqrt(n) / n_a`` of each size a, with c = ``weight``.

    ``n_a = taken[a]`` is how often size a was chosen, and n is the sum of all n_a. The bound of a
    size never chosen is infinite.
    """
    out = np.empty(len(q))
    root = np.sqrt(float(taken.sum()))
    for action in range(len(q)):
        out[action] = q[action] + weight * root / taken[action] if taken[action] else np.inf
    return out


@compiled
def explore(q: Float32Array, allowed: BoolArray, taken: IntArray, weight: float) -> IntArray:
    """Return the index of each row's allowed size of the highest upper bound, the lowest of ties.

    Each choice is counted before the choice of the next row.

    Parameters
    ----------
    q : float32, shape (decisions, actions)
    allowed : bool, shape (decisions, actions)
    taken : int64, shape (actions,)
        How often the agent took each size; changed in place.
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
    """Return the index of each row's allowed size with the largest q; of equal q the lowest."""
    return np.asarray(np.argmax(np.where(allowed, q, -np.inf), axis=1), dtype=np.int64)


def one_step(allowed: BoolArray, limit: FloatArray, sizes: FloatArray) -> BoolArray:
    """Return ``allowed`` without sizes more than one core or one GB from the present limit."""
    within = (np.abs(sizes[None] - limit[:, None]) <= 1).all(axis=2)
    return allowed & within


def values(model: Model, states: Float32Array) -> Float32Array:
    """Compute a model's q value of every size, shape (states, actions).

    The states have shape (states, channels, cycles).
    """
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
    """A convolution over cycles, with one cycle of zeros on either side."""
    weight, bias = layers[f"conv{at}.weight"], layers[f"conv{at}.bias"]
    padded = np.pad(flowing, ((0, 0), (0, 0), (1, 1)))
    cycles = flowing.shape[2]
    rows = np.concatenate([padded[:, :, k : k + cycles] for k in range(3)], axis=1)
    flat = weight.transpose(0, 2, 1).reshape(len(weight), -1)
    made: Float32Array = np.matmul(flat, rows) + bias[:, None]
    return made
