"""One training from its first epoch or its checkpoint to its last, with progress."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracekit.progress import SILENT, Progress
from tracekit.sizing.agent.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from tracekit.sizing.agent.train import Epoch, Trainer
from tracekit.sizing.network.weights import Model
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.settings import Settings
from tracekit.sizing.simset import SimulationSet

#: Epochs between checkpoints.
EVERY = 50
#: Epochs that the reward shown in progress is averaged over.
SHOWN = 20


@dataclass(frozen=True)
class Trained:
    """What a training came to."""

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
        Where the training is kept every 50 epochs: interrupted, the same call goes on from there
        and ends with the same network. It is removed at the end.

    Raises TracekitError when torch is not installed.
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
    with progress.task(f"train seed {trainer.seed}", trainer.epochs, "epochs") as task:
        task.advance(len(log))
        while trainer.done < trainer.epochs:
            log.append(trainer.run_epoch())
            recent = log[-SHOWN:]
            reward = sum(epoch.reward for epoch in recent) / len(recent)
            task.advance(1, f"reward {reward:.1f}")
            if checkpoint is not None and trainer.done % EVERY == 0:
                save_checkpoint(trainer, log, checkpoint, mark)
