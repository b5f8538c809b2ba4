"""Write what a run left for other programs: schedulers, simulators, kubectl, a plan to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.verbs._options import Argument, Option

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
    """Write a format of ``tracekit.live.export``; what is written, and what it cannot carry."""
    from tracekit.live.export import Asked
    from tracekit.live.export import export as write

    given = None if objects is None else Path(objects)
    return write(Path(run), to, Path(out), Asked(policy=policy, objects=given))
