"""The sizing study from start to end: set, policies, trainings, comparison, run folder."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracekit.callgraph.export import CHAINS
from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay import parameters
from tracekit.sizing.agent.need_torch import require
from tracekit.sizing.agent.weights import Model, load_model
from tracekit.sizing.kernels import CHANNELS
from tracekit.sizing.policies import SizingPolicy, all_sizing_policies, parse_sizing_policy
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.read import load_set
from tracekit.sizing.run_folder import check_replaceable, write_study
from tracekit.sizing.sensitivity import sensitivity
from tracekit.sizing.settings import Settings
from tracekit.sizing.study import Study, run_study, with_epochs
from tracekit.sizing.world import CYCLES_SEEN


def run_size(
    store: Path | str,
    policies: Sequence[str],
    *,
    out: Path | str,
    model: Path | str | None = None,
    epochs: int | None = None,
    seeds: int = 1,
    seed: int = 0,
    chains: int = CHAINS,
    assume: Sequence[str] = (),
    sensitivity_epochs: int | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Compare sizing policies on a store's call chains and write the run folder ``out``.

    Parameters
    ----------
    store : path
        A store, or a folder with the study's tables (``tracekit callgraph --export``).
    policies : sequence of str
        ``NAME[param=value,...]``, or ``all``; without torch or a model ``all`` leaves the agent
        out, and the study's policies say so.
    model : path, optional
        A trained network; none is trained then.
    epochs : int, optional
        Of training, instead of the agent's own.
    seeds : int
        How many splits and trainings, from ``seed`` on; more than one give intervals.
    assume : sequence of str
        ``name=value`` of ``Settings``.
    sensitivity_epochs : int, optional
        Train the agent anew for so many epochs under each variant of ``sensitivity.VARIANTS``.

    Interrupted, a training is kept beside ``out``; called again in the same way it goes on.

    Raises TracekitError for a name, value, model or folder that will not do.
    """
    out = Path(out)
    check_replaceable(out)
    settings = read_settings(assume)
    used = read_model(model, settings)
    chosen = [with_epochs(policy, epochs) for policy in choose(policies, used)]
    whole = load_set(store, chains=chains, progress=progress)
    kept = out.parent / f".{out.name}.training"
    study = run_study(
        whole,
        chosen,
        settings=settings,
        seeds=range(seed, seed + seeds),
        model=used,
        checkpoints=kept,
        progress=progress,
    )
    if sensitivity_epochs is not None:
        varied = sensitivity(
            whole,
            chosen,
            settings=settings,
            seed=seed,
            epochs=sensitivity_epochs,
            progress=progress,
        )
        study = dataclasses.replace(study, sensitivity=varied)
    write_study(study, out, store=Path(store))
    if kept.is_dir() and not any(kept.iterdir()):
        kept.rmdir()
    return study


def read_settings(assume: Sequence[str]) -> Settings:
    """Settings with some values given as ``name=value``."""
    _, given = parameters.split(f"settings[{','.join(assume)}]" if assume else "settings")
    made: Any = parameters.build(Settings, "the sizing settings", given)
    if not isinstance(made, Settings):
        raise TypeError(made)
    return made


def read_model(path: Path | str | None, settings: Settings) -> Model | None:
    """The model of a file, of the shape these settings need; None without a path."""
    if path is None:
        return None
    return load_model(Path(path), channels=CHANNELS, cycles=CYCLES_SEEN, actions=settings.actions)


def choose(texts: Sequence[str], model: Model | None) -> list[SizingPolicy]:
    """The policies of these texts, each once; 'all' are those that can run here."""
    can_train = model is not None or importlib.util.find_spec("torch") is not None
    found: dict[str, SizingPolicy] = {}
    for text in texts:
        if text == "all":
            known = all_sizing_policies()
            every = [known[name]() for name in known if can_train or name != Ddqn.name()]
        else:
            every = [parse_sizing_policy(text)]
        found |= {str(policy): policy for policy in every}
    if not found:
        raise TracekitError(
            "no policy given", hint="--policy all, or tracekit list sizing_policies"
        )
    if not can_train and any(isinstance(policy, Ddqn) for policy in found.values()):
        require("torch", "training the ddqn policy")
    return list(found.values())


def left_out(policies: Sequence[SizingPolicy]) -> str | None:
    """What to say when the agent was not among them for want of torch."""
    if any(isinstance(policy, Ddqn) for policy in policies):
        return None
    if importlib.util.find_spec("torch") is not None:
        return None
    try:
        require("torch", "training the ddqn policy")
    except TracekitError as error:
        return f"{error.what}: {error.hint}"
    return None
