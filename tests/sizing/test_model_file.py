"""Trained networks as files: written, read back, refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracekit.base.errors import TracekitError
from tracekit.sizing.network.explore import values
from tracekit.sizing.network.weights import Model, layer_shapes, load_model, save_model


def made(actions: int = 16) -> Model:
    rng = np.random.default_rng(0)
    shapes = layer_shapes(20, 8, actions)
    layers = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    return Model(layers, 20, 8, actions, about={"trained_on": ["a"], "seed": 1})


def test_reads_back_as_written(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        save_model(made(), tmp_path / "models" / name)
    assert [path.name for path in sorted((tmp_path / "models").iterdir())] == ["one.npz", "two.npz"]
    files = [(tmp_path / "models" / name).read_bytes() for name in ("one.npz", "two.npz")]
    assert files[0] == files[1]
    read = load_model(tmp_path / "models" / "one.npz", channels=20, cycles=8, actions=16)
    assert read.about == made().about
    state = np.random.default_rng(1).random((3, 20, 8)).astype(np.float32)
    assert values(read, state).tolist() == values(made(), state).tolist()


def test_a_model_whose_layers_contradict_its_head(tmp_path: Path) -> None:
    wrong = made()
    layers = {**wrong.layers, "dense0.bias": np.zeros(3, np.float32)}
    save_model(Model(layers, 20, 8, 16), tmp_path / "m.npz")
    with pytest.raises(TracekitError, match="another shape"):
        load_model(tmp_path / "m.npz", channels=20, cycles=8, actions=16)


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04rest"])
def test_a_file_that_is_no_model(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(TracekitError, match="tracekit"):
        load_model(path, channels=20, cycles=8, actions=16)
    np.savez(path, some=np.zeros(3))
    with pytest.raises(TracekitError, match="tracekit"):
        load_model(path, channels=20, cycles=8, actions=16)
