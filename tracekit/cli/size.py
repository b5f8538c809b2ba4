"""tracekit size: set containers' limits by policies, the learning agent among them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tracekit.cli._options import JsonOption, SeedOption
from tracekit.cli._output import print_json, print_sentence, print_table, progress
from tracekit.units import percent


def command(
    store: Annotated[
        Path,
        typer.Argument(
            help="A store, or a folder of tracekit callgraph --export.", show_default=False
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="all|NAME[param=value,...]", help="May be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder to write.")] = ...,  # type: ignore[assignment]
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A trained network, RUN/models/seed-0.npz: train none."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of training.", show_default="1000")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Splits and trainings; several give intervals.")
    ] = 1,
    seed: SeedOption = 0,
    chains: Annotated[int, typer.Option(min=2, help="Call chains taken from a store.")] = 330,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set what the study leaves open; may be repeated."),
    ] = None,
    sensitivity: Annotated[
        int | None,
        typer.Option(
            metavar="EPOCHS",
            min=1,
            help="Train anew for so many epochs with alpha0, K weight, reward form, ... changed.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Size containers cycle by cycle: the double-DQN agent beside what practice uses.

    Policies are compared on call chains the agent has not seen. Training needs the extra rl;
    interrupted, the same command goes on from the last 50 epochs that were whole.

    Example: tracekit size mystore --policy all --out sized --seeds 3
    """
    import tracekit
    from tracekit.sizing.inputs import left_out
    from tracekit.sizing.run_folder import manifest_of
    from tracekit.sizing.verdict import sentences

    with progress() as shown:
        study = tracekit.size(
            store,
            policy or ["all"],
            out=out,
            model=model,
            epochs=epochs,
            seeds=seeds,
            seed=seed,
            chains=chains,
            assume=assume or [],
            sensitivity_epochs=sensitivity,
            progress=shown,
        )
    if as_json:
        print_json({**manifest_of(study), "summary": study.summary.to_dicts()})
        return
    facts = study.facts
    for sentence in sentences(study.summary, study.differences):
        print_sentence(sentence)
    print_table(
        f"{facts['test_containers']:,} test containers on {facts['test_nodes']:,} nodes",
        list(COLUMNS),
        _rows(study.summary.to_dicts()),
        note=f"means over {len(study.seeds)} seeds; intervals and more measures: {out}",
    )
    if missing := left_out(study.policies):
        print_sentence(missing)


#: Columns of the printed table; summary.parquet has every measure.
COLUMNS = {
    "policy": "",
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def _rows(summary: list[dict[str, Any]]) -> list[list[object]]:
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary}
    policies = list(dict.fromkeys(row["policy"] for row in summary))
    measures = list(COLUMNS.values())[1:]
    return [[name, *(percent(means[name, one]) for one in measures)] for name in policies]
