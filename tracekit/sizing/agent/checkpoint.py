"""Training stopped and taken up again: everything that the next epoch depends on, in one file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from tracekit import parameters
from tracekit.arrays import Float32Array
from tracekit.sizing.agent.network import torch_ready
from tracekit.sizing.agent.train import Epoch, Trainer
from tracekit.sizing.settings import Settings
from tracekit.sizing.simset import SimulationSet

ARRAYS = ("states", "following", "actions", "rewards", "allowed")


def fingerprint(chains: SimulationSet, settings: Settings, policy: Any, seed: int) -> str:
    """A digest of all that a training depends on."""
    digest = hashlib.sha256()
    for array in (chains.need, chains.edges, chains.calls, chains.chain):
        digest.update(array.tobytes())
    for owner in (settings, policy):
        digest.update(parameters.spell_all(owner, defaults=True).encode())
    digest.update(f"{chains.containers} {seed}".encode())
    return digest.hexdigest()


def save_checkpoint(trainer: Trainer, log: list[Epoch], path: Path, mark: str) -> None:
    """Write the training as it stands; the file is there whole or not at all."""
    torch = torch_ready()
    memory, learner = trainer.memory, trainer.learner
    document = {
        "mark": mark,
        "log": json.dumps([dataclasses.asdict(epoch) for epoch in log]),
        "rng": json.dumps(trainer.rng.bit_generator.state),
        "numbers": [memory.count, memory.newest, trainer.updates, trainer.done],
        "highest": memory.highest,
        "taken": torch.from_numpy(trainer.taken),
        "tree": torch.from_numpy(memory.tree),
        "memory": {
            name: torch.from_numpy(getattr(memory, name)[: memory.count]) for name in ARRAYS
        },
        "best": None if trainer.best is None else _as_tensors(trainer.best),
        "network": learner.network.state_dict(),
        "target": learner.target.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f"{path.name}.part")
    torch.save(document, made)
    made.replace(path)


def load_checkpoint(trainer: Trainer, path: Path, mark: str) -> list[Epoch]:
    """Bring a fresh trainer to where the file left off; the epochs so far, [] when none is there.

    A file of another training (``fingerprint``), or one that cannot be read, is left alone.
    """
    document = _read(path)
    if document is None or document["mark"] != mark:
        return []
    memory, learner = trainer.memory, trainer.learner
    trainer.rng.bit_generator.state = json.loads(document["rng"])
    memory.count, memory.newest, trainer.updates, trainer.done = document["numbers"]
    memory.highest = document["highest"]
    trainer.taken[:] = document["taken"].numpy()
    memory.tree[:] = document["tree"].numpy()
    for name in ARRAYS:
        getattr(memory, name)[: memory.count] = document["memory"][name].numpy()
    if document["best"] is not None:
        reward, layers = document["best"]
        trainer.best = reward, {name: layer.numpy() for name, layer in layers.items()}
    learner.network.load_state_dict(document["network"])
    learner.target.load_state_dict(document["target"])
    learner.optimizer.load_state_dict(document["optimizer"])
    return [Epoch(**row) for row in json.loads(document["log"])]


def _as_tensors(best: tuple[float, dict[str, Float32Array]]) -> tuple[float, dict[str, Any]]:
    torch = torch_ready()
    return best[0], {name: torch.from_numpy(layer) for name, layer in best[1].items()}


def _read(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return torch_ready().load(path, weights_only=True)
    except Exception:  # noqa: BLE001 - torch raises anything on a torn file; training begins anew
        return None
