"""tracekit run: everything, from trace files to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import JsonOption, SeedOption, size_bytes
from tracekit.cli._output import print_json, print_sentence, progress


def command(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="A folder of trace files, or synth:small.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where everything goes.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="all|common|NAME[param=value,...]", help="A policy; may be repeated."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            min=1,
            help="Orders of arrival of named policies, and of the common ones; as many as an"
            " interval needs.",
        ),
    ] = None,
    seed: SeedOption = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Processes side by side; one per core.", min=1)
    ] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory for sorting rows.")] = "1GB",
    json: JsonOption = False,
) -> None:
    """Do everything: ingest, check, analyse, replay, report.

    Needs no data of your own when SRC is synth:small, a made-up trace.
    Leaves DIR/store, DIR/analysis, DIR/replay and DIR/report.html.
    Without --policy every policy is replayed, and the ten that are compared first meet six orders
    of arrival, so that an interval can say which differ.

    Example: tracekit run synth:small --out demo
    """
    import tracekit

    with progress() as shown:
        summary = tracekit.run(
            source,
            out,
            policies=policy or ["all"],
            seed=seed,
            jobs=jobs,
            memory_limit_bytes=size_bytes(memory_limit),
            progress=shown,
            **({} if repeats is None else {"repeats": repeats}),
        )
    if json:
        print_json({"schema": "tracekit/run/1", **vars(summary)})
        return
    for finding in summary.findings:
        print_sentence(finding)
    for reason in summary.skipped:
        print_sentence(f"left out: {reason}")
    print(f"\nreport: {summary.report}")
    print(f"store:  {summary.store}  (tracekit info {summary.store})")
