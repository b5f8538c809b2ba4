"""A trained network as a file: named arrays and what they were trained for, no code."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.arrays import Float32Array
from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import replaced_file

SCHEMA = "tracekit/sizing-model/1"
#: Channels of the five convolutions, kernel 3, and widths of the two dense layers; widths ours.
CONVOLUTIONS = (32, 32, 64, 64, 64)
DENSE = (128, 64)
KERNEL = 3


def layer_shapes(channels: int, cycles: int, actions: int) -> dict[str, tuple[int, ...]]:
    """Shapes of every weight and bias, in order, for states of (channels, cycles)."""
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
    """A trained network.

    Parameters
    ----------
    layers : mapping of str to float32 array
        By the names of ``layer_shapes``.
    channels, cycles, actions : int
        What states it reads, and how many sizes it chooses from.
    about : mapping
        How it was trained: ``trained_on`` names the containers.
    """

    layers: Mapping[str, Float32Array]
    channels: int
    cycles: int
    actions: int
    about: Mapping[str, Any] = field(default_factory=dict)


def save_model(model: Model, path: Path) -> None:
    """Write the model; the file is there whole or not at all, and the same model the same bytes."""
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
    """Read a model for states of (channels, cycles) and so many sizes.

    Raises TracekitError when the file is no model, or one of another shape.
    """
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(str(arrays.pop("head")))
        found = {SCHEMA: (head["channels"], head["cycles"], head["actions"])}[head["schema"]]
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
    if found != expected or shapes != layer_shapes(*expected):
        raise TracekitError(
            f"{path} is a model of another shape: {found[0]} channels x {found[1]} cycles,"
            f" {found[2]} sizes; these settings need {channels} x {cycles}, {actions}",
            hint="use the settings it was trained with, or train a new one",
        )
    return Model(layers, *expected, about=head["about"])
