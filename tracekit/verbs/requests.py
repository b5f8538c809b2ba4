"""Recommend requests from recorded use, or set limits on call chains cycle by cycle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.analysis.callgraph.declared import CHAINS, Chains
from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.sizing.requests.declared import (
    BY,
    LEARN_SHARE,
    RISK_SHARE,
    By,
    LearnShare,
    RiskShare,
)
from tracekit.verbs._options import Argument, Option, Seed, StudyFolder

if TYPE_CHECKING:
    from tracekit.base import study as by_use
    from tracekit.sizing import study as by_calls


def requests(
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
    out: StudyFolder = None,
    model: Annotated[
        Path | str | None,
        Option("A trained network, RUN/models/seed-0.npz.", metavar="FILE"),
    ] = None,
    epochs: Annotated[int | None, Option("Train the agent for so many epochs.", minimum=1)] = None,
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
    by: By = BY,
    learn_share: Annotated[LearnShare, Option(names="--learn", metavar="SHARE")] = LEARN_SHARE,
    risk_share: Annotated[RiskShare, Option(names="--risk", metavar="SHARE")] = RISK_SHARE,
    progress: Progress = SILENT,
) -> by_calls.Study | by_use.Study:
    """Recommend requests from a store's recorded use, or size its call chains cycle by cycle.

    By use each service gets one request: ``tracekit.sizing.requests.study``. By calls limits are
    set cycle by cycle, and ``out`` is needed: ``tracekit.sizing.study``.

    Parameters
    ----------
    policies : sequence of str
        ``NAME[param=value,...]``, or ``all``. The agent has the network that comes with tracekit,
        unless a model is given, or epochs, other assumptions or parameters of its training.
    seeds : int
        How many splits and trainings, from ``seed`` on.
    assume : sequence of str
        ``name=value`` of ``Settings``.
    sensitivity_epochs : int, optional
        Train the agent anew for so many epochs under each variant of ``sensitivity.VARIANTS``.

    Interrupted, a training is kept beside ``out``; called again in the same way it goes on.

    Raises TracekitError for a name, value, model or folder that will not do.
    """
    from tracekit.base.errors import TracekitError
    from tracekit.sizing.requests.read_use import goes_by_use

    if goes_by_use(store, by):
        given = {
            "--model": model,
            "--epochs": epochs,
            "--assume": assume,
            "--seeds": seeds > 1,
            "--sensitivity": sensitivity_epochs,
        }
        return _by_use(
            store,
            policies,
            out,
            learn_share=learn_share,
            risk_share=risk_share,
            seed=seed,
            of_calls=[name for name, value in given.items() if value],
            progress=progress,
        )
    if out is None:
        raise TracekitError("the simulation of call chains needs a folder", hint="add --out RUN")
    return _by_calls(
        store,
        policies,
        Path(out),
        model=model,
        epochs=epochs,
        seeds=range(seed, seed + seeds),
        chains=chains,
        assume=assume,
        sensitivity_epochs=sensitivity_epochs,
        progress=progress,
    )


def _by_use(
    store: Path | str,
    policies: Sequence[str],
    out: Path | str | None,
    *,
    learn_share: float,
    risk_share: float,
    seed: int,
    of_calls: Sequence[str],
    progress: Progress,
) -> by_use.Study:
    """Requests from recorded use; ``of_calls`` are options given that mean nothing here."""
    from tracekit.base.errors import TracekitError
    from tracekit.sizing.requests.study import recommend_requests
    from tracekit.store.folder import open_store
    from tracekit.verbs._study import made

    if of_calls:
        raise TracekitError(
            f"{of_calls[0]} is of the simulation of call chains, and use is gone by here",
            hint="leave it out; --by calls simulates the call chains of a store that has calls",
        )
    return made(
        lambda _: recommend_requests(
            open_store(place(store)),
            policies,
            learn_share=learn_share,
            risk_share=risk_share,
            seed=seed,
            called=str(store),
            progress=progress,
        ),
        out,
    )


def _by_calls(
    store: Path | str,
    policies: Sequence[str],
    out: Path,
    *,
    model: Path | str | None,
    epochs: int | None,
    seeds: Sequence[int],
    chains: int,
    assume: Sequence[str],
    sensitivity_epochs: int | None,
    progress: Progress,
) -> by_calls.Study:
    """Limits cycle by cycle on call chains."""
    from tracekit.sizing.inputs import choose, network_for, read_settings
    from tracekit.sizing.read import load_set
    from tracekit.sizing.run_folder import SIZING_FOLDER, write_study
    from tracekit.sizing.sensitivity import sensitivity
    from tracekit.sizing.study import run_study, with_epochs

    SIZING_FOLDER.check_free(out)
    settings = read_settings(assume)
    chosen = choose(policies)
    used = network_for(chosen, settings, model, trained=bool(epochs or sensitivity_epochs))
    chosen = [with_epochs(policy, epochs) for policy in chosen]
    whole = load_set(store, chains=chains, progress=progress)
    kept = out.parent / f".{out.name}.training"
    study = run_study(
        whole,
        chosen,
        settings=settings,
        seeds=seeds,
        model=used,
        checkpoints=kept,
        progress=progress,
    )
    if sensitivity_epochs is not None:
        varied = sensitivity(
            whole,
            chosen,
            settings=settings,
            seed=seeds[0],
            epochs=sensitivity_epochs,
            progress=progress,
        )
        study = dataclasses.replace(study, sensitivity=varied)
    write_study(study, out, store=place(store))
    if kept.is_dir() and not any(kept.iterdir()):
        kept.rmdir()
    return study
