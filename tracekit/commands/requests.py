"""tracekit requests: recommended requests, or limits set cycle by cycle on call chains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.analysis.callgraph import CHAINS, Chains
from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, Option, Seed, StudyFolder
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.sizing.requests import (
    BY,
    LEARN_SHARE,
    RISK_SHARE,
    By,
    LearnShare,
    RiskShare,
)

if TYPE_CHECKING:
    from tracekit.base import study as by_use
    from tracekit.base.facts import Answer
    from tracekit.base.study import Study as Requests
    from tracekit.sizing import study as by_calls
    from tracekit.sizing.study import Study as ChainStudy


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

    By use, each service gets one request; see ``tracekit.sizing.requests.study``. By calls, limits
    are set cycle by cycle, and ``out`` is needed; see ``tracekit.sizing.study``.

    Parameters
    ----------
    policies : sequence of str
        ``NAME[param=value,...]``, or ``all``. The agent has the network that comes with tracekit.
        It is another one if a model, epochs, assumptions or parameters of its training are given.
    seeds : int
        The number of splits and trainings, with seeds from ``seed`` on.
    assume : sequence of str
        ``name=value`` of ``Settings``.
    sensitivity_epochs : int, optional
        Train the agent anew for so many epochs under each variant of ``sensitivity.VARIANTS``.

    An interrupted training is kept beside ``out``, and the same call goes on.

    Raises TracekitError for a wrong name, value, model or folder.
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
    """Requests from recorded use; ``of_calls`` are given options that only call chains have."""
    from tracekit.base.errors import TracekitError
    from tracekit.commands._study import made
    from tracekit.sizing.policies import parse_sizing_policies
    from tracekit.sizing.requests.study import every_policy, recommend_requests
    from tracekit.store.folder import open_store

    if of_calls:
        raise TracekitError(
            f"{of_calls[0]} is an option of call chains, and requests go by use here",
            hint="leave it out; --by calls simulates the call chains of a store that has calls",
        )
    chosen = parse_sizing_policies(policies, every_policy())
    return made(
        lambda _: recommend_requests(
            open_store(place(store)),
            chosen,
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
    """Limits set cycle by cycle on call chains."""
    from tracekit.sizing.read import choose, load_set, network_for, read_settings
    from tracekit.sizing.run_folder import SIZING_FOLDER, write_study
    from tracekit.sizing.study import run_study, sensitivity, with_epochs

    SIZING_FOLDER.check_free(out)
    settings = read_settings(assume)
    chosen = choose(policies)
    used = network_for(chosen, settings, model, trained=bool(epochs or sensitivity_epochs))
    chosen = tuple(with_epochs(policy, epochs) for policy in chosen)
    whole = load_set(store, chains=chains, progress=progress)
    checkpoint_folder = out.parent / f".{out.name}.training"
    study = run_study(
        whole,
        chosen,
        settings=settings,
        seeds=seeds,
        model=used,
        checkpoints=checkpoint_folder,
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
    if checkpoint_folder.is_dir() and not any(checkpoint_folder.iterdir()):
        checkpoint_folder.rmdir()
    return study


PANEL = Panel.replay
#: The number of printed rows of a table; --json and the folder have all.
SHOWN = 20
#: Columns of the printed table: per container; the last one over all containers of a service.
_AMOUNTS = ("count", "request now", "recommended", "change of all")
#: Measures of the printed table; summary.parquet has every measure.
MEASURES = {
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def command(
    call: Call, store: Path | str, out: Path | None = None, as_json: JsonOption = False
) -> None:
    """Recommend what containers should request, from what they used.

    Each policy recommends one request for each service. It learns from the first half of the
    recorded time, and is judged on the second half: how often a service uses more than its request.

    With --by calls, call chains are simulated instead. The double-DQN agent and policies of
    practice set limits in each cycle. The agent has a trained network; --epochs 1000 trains one on
    this trace, which needs the extra rl. An interrupted training goes on from its last checkpoint.

    Example: tracekit requests mystore
    """
    from tracekit.base.study import Study as Requests

    study = call()
    if isinstance(study, Requests):
        _requests(study, store, out, as_json=as_json)
    else:
        _chains(study, as_json=as_json)


def _requests(study: Requests, store: Path | str, out: Path | None, *, as_json: bool) -> None:
    """Prints a study of requests."""
    from tracekit.answer.requests import answer_of_requests
    from tracekit.report.sentences import document

    answer = answer_of_requests(study, store=str(store), out=str(out or ""))
    if as_json:
        frames = {name: frame.to_dicts() for name, frame in study.frames.items()}
        record = {"record": study.about["facts"]}
        schema = {"schema": "tracekit/size-by-use/1"}
        print_json({**study.about, **record, **document(answer), **schema, **frames})
    else:
        print_lines(_page(study, answer))


def _page(study: Requests, answer: Answer) -> Iterator[str]:
    """The facts, the requests that change most, and what to do next."""
    from tracekit.base.words import short_hash
    from tracekit.report.terminal import Column, following, summary, table
    from tracekit.sizing.requests.rows import UNITS, amount, by_change

    yield from summary(answer)
    rows = [
        [
            short_hash(one["service"]),
            UNITS[one["resource"]][1],
            f"{one['containers']:,.3g}",
            amount(one["request_now"], one["resource"]),
            amount(one["recommended"], one["resource"]),
            f"{'-' if one['freed'] > 0 else '+'}{amount(abs(one['freed']), one['resource'])}",
            one["at_risk"],
        ]
        for one in by_change(study).head(SHOWN).to_dicts()
    ]
    if rows:
        yield ""
        right = [Column(name=name, right=True) for name in _AMOUNTS]
        yield from table(rows, ["service", "unit", *right, "at risk"])
    yield ""
    yield from following(answer.next)


def _chains(study: ChainStudy, *, as_json: bool) -> None:
    """Prints a comparison on call chains."""
    from tracekit.answer.requests import answer_of_chains
    from tracekit.report.sentences import document
    from tracekit.report.terminal import Column, summary, table
    from tracekit.sizing.run_folder import manifest_of

    answer, rows = answer_of_chains(study), study.summary.to_dicts()
    if as_json:
        print_json({**document(answer), **manifest_of(study), "summary": rows})
        return
    means = {(row["policy"], row["measure"]): row["mean"] for row in rows}
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    cells = [[name, *(means[name, one] for one in MEASURES.values())] for name in policies]
    columns = [Column(name=name, right=True, unit="fraction") for name in MEASURES]
    print_lines([*summary(answer), "", *table(cells, [Column(name="policy"), *columns])])
