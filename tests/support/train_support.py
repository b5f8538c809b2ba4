"""``make train``: the network that comes with tracekit, with the curve of its training in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from tracekit.commands.shell import run
from tracekit.sizing.read import SHIPPED, read_model
from tracekit.sizing.weights import save_model
from tracekit.sizing.world.simset import Settings

OUT = Path("build/trained")
_TRAIN = ("requests", "demo/store", "--by", "calls", "--policy", "ddqn", "--epochs", "1000")


def keep(folder: Path) -> None:
    """Take the network of a sizing run, seed 0, as the one that comes with tracekit."""
    model = read_model(folder / "models" / "seed-0.npz", Settings())
    assert model is not None
    training = pl.read_parquet(folder / "training.parquet").filter(seed=0)
    rewards = training["reward"].round(3).to_list()
    about = {**model.about, "set": "the made-up demo", "rewards": rewards}
    save_model(replace(model, about=about), SHIPPED)


if __name__ == "__main__":
    if not OUT.is_dir() and run([*_TRAIN, "--out", str(OUT)]):
        raise SystemExit(1)
    keep(OUT)
