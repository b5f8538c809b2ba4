"""One training of the agent, from the first epoch or a checkpoint to the last epoch."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import parameters
from tracekit.base.arrays import Float32Array
from tracekit.base.files.replacing import replaced_file
from tracekit.base.progress import SILENT, Progress
from tracekit.sizing.agent.network import torch_ready
from tracekit.sizing.agent.train import Epoch, Trainer
from tracekit.sizing.policies.simple import Ddqn
from tracekit.sizing.weights import Model
from tracekit.sizing.world.simset import Settings, SimulationSet

ARRAYS = ("states", "following", "actions", "rewards", "allowed")


def fingerprint(chains: SimulationSet, settings: Settings, policy: Any, seed: int) -> str:
    """Return a SHA-256 of all inputs of a training, in hexadecimal digits."""
    digest = hashlib.sha256()
    for array in (chains.need, chains.edges, chains.calls, chains.chain):
        digest.update(array.tobytes())
    for owner in (settings, policy):
        digest.update(parameters.spell_all(owner, defaults=True).encode())
    digest.update(f"{chains.containers} {seed}".encode())
    return digest.hexdigest()


def save_checkpoint(trainer: Trainer, log: list[Epoch], path: Path, mark: str) -> None:
    """Write the state of a training atomically; ``mark`` is its ``fingerprint``."""
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
    with replaced_file(path, follow=False) as made:
        torch.save(document, made)


def load_checkpoint(trainer: Trainer, path: Path, mark: str) -> list[Epoch]:
    """Restore a trainer from a checkpoint, and return the past epochs.

    The result is [] without a checkpoint. A file of another training (another ``mark``) and a
    damaged file are ignored.
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


#: Epochs between checkpoints.
EVERY = 50
#: The number of epochs in the mean reward that progress shows.
SHOWN = 20


@dataclass(frozen=True)
class Trained:
    """The result of ``train``: the network, and the results of all epochs."""

    model: Model
    log: tuple[Epoch, ...]


def train(
    chains: SimulationSet,
    settings: Settings,
    policy: Ddqn,
    *,
    seed: int,
    checkpoint: Path | None = None,
    progress: Progress = SILENT,
) -> Trained:
    """Train an agent on call chains.

    Parameters
    ----------
    checkpoint : path, optional
        The file for the training's state, written every 50 epochs and removed at the end. After an
        interruption the same call continues from the file and ends with the same network.

    Raises
    ------
    TracekitError
        If torch is not installed.
    """
    trainer = Trainer(chains, settings, policy, seed=seed)
    mark = fingerprint(chains, settings, policy, seed)
    log = [] if checkpoint is None else load_checkpoint(trainer, checkpoint, mark)
    _run(trainer, log, checkpoint, mark, progress)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return Trained(trainer.model(), tuple(log))


def _run(
    trainer: Trainer, log: list[Epoch], checkpoint: Path | None, mark: str, progress: Progress
) -> None:
    progress.say(
        f"the agent trains for {trainer.epochs - len(log):,} epochs, by --epochs fewer;"
        " --policy percentile_request, without it, takes seconds"
    )
    with progress.task(f"train seed {trainer.seed}", trainer.epochs, "epochs") as task:
        task.advance(len(log))
        while trainer.done < trainer.epochs:
            log.append(trainer.run_epoch())
            recent = log[-SHOWN:]
            reward = sum(epoch.reward for epoch in recent) / len(recent)
            task.advance(1, f"reward {reward:.1f}")
            if checkpoint is not None and trainer.done % EVERY == 0:
                save_checkpoint(trainer, log, checkpoint, mark)
