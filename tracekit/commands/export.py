"""tracekit export: what a run left, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.commands._options import Argument, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.base.facts import Answer


def export(
    run: Annotated[
        Path | str, Argument("A folder of run, replay, nodes or requests.", metavar="RUN")
    ],
    *,
    to: Annotated[
        str,
        Option(
            "kube-scheduler, descheduler, opendc, swf, kwok, simkube, kubectl-patch, vpa,"
            " moves.csv or drain.sh.",
            metavar="FORMAT",
        ),
    ],
    out: Annotated[
        Path | str, Option("The file to write; of opendc the folder.", metavar="FILE|FOLDER")
    ],
    policy: Annotated[
        str,
        Option(
            "The policy that is written, in place of the one that won.",
            metavar="NAME[param=value,...]",
            completes="entrants",
        ),
    ] = "",
    objects: Annotated[
        Path | str | None,
        Option(
            "What 'kubectl get pods -A -o json' printed: which containers pods have.",
            metavar="FILE|FOLDER",
        ),
    ] = None,
) -> Answer:
    """Write a run in a format of ``tracekit.live.export``; return facts on what it lost."""
    from tracekit.live.export import ExportSource
    from tracekit.live.export import export as write

    given = None if objects is None else Path(objects)
    return write(ExportSource(Path(run), policy, given), to, Path(out))


PANEL = Panel.replay


def command(call: Call, as_json: JsonOption = False) -> None:
    """Write a run's results for other programs: the policy, its plan, requests to change.

    kube-scheduler and descheduler are configurations of the recommended policy. kubectl-patch and
    vpa are the recommended requests, split over the containers of each pod. moves.csv and drain.sh
    are a plan to read: pods move in waves that keep disruption budgets. opendc, swf, kwok and
    simkube are what was replayed, for other simulators. Nothing is executed. What a format cannot
    carry is listed.

    Example: tracekit export myrun --to kube-scheduler --out kube-scheduler.yaml
    """
    from tracekit.report.sentences import document
    from tracekit.report.terminal import following, summary

    answer = call()
    if as_json:
        print_json(document(answer))
        return
    print_lines([*summary(answer, lines=0), *following(answer.next)])
