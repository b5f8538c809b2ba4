"""Size containers by policies: set, trainings, comparison, run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.callgraph.declared import CHAINS, Chains
from tracekit.files.places import place
from tracekit.progress import SILENT, Progress
from tracekit.verbs._options import Argument, Option, RunFolder, Seed

if TYPE_CHECKING:
    from tracekit.sizing.study import Study


def size(
    store: Annotated[
        Path | str,
        Argument("A store, or a folder of tracekit callgraph --export.", metavar="STORE|FOLDER"),
    ],
    policies: Annotated[
        Sequence[str],
        Option(
            "May be repeated.",
            names="--policy",
            metavar="all|NAME[param=value,...]",
            completes="sizing_policies",
        ),
    ] = ("all",),
    *,
    out: RunFolder,
    model: Annotated[
        Path | str | None,
        Option("A trained network, RUN/models/seed-0.npz: train none.", metavar="FILE"),
    ] = None,
    epochs: Annotated[int | None, Option("Epochs of training.", minimum=1, shown="1000")] = None,
    seeds: Annotated[int, Option("Splits and trainings; several give intervals.", minimum=1)] = 1,
    seed: Seed = 0,
    chains: Annotated[Chains, Option(minimum=2)] = CHAINS,
    assume: Annotated[
        Sequence[str],
        Option("Set what the study leaves open; may be repeated.", metavar="NAME=VALUE"),
    ] = (),
    sensitivity_epochs: Annotated[
        int | None,
        Option(
            "Train anew for so many epochs with alpha0, K weight, reward form, ... changed.",
            minimum=1,
            names="--sensitivity",
            metavar="EPOCHS",
        ),
    ] = None,
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
    from tracekit.sizing.inputs import choose, read_model, read_settings
    from tracekit.sizing.read import load_set
    from tracekit.sizing.run_folder import SIZING_FOLDER, write_study
    from tracekit.sizing.sensitivity import sensitivity
    from tracekit.sizing.study import run_study, with_epochs

    out = Path(out)
    SIZING_FOLDER.check_free(out)
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
    write_study(study, out, store=place(store))
    if kept.is_dir() and not any(kept.iterdir()):
        kept.rmdir()
    return study
