"""Score recorded scheduling cases with the code that the replay runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.verbs._options import Argument, Option

if TYPE_CHECKING:
    from tracekit.replay.cases.scoring import Scored


def score(
    case: Annotated[
        str | Path,
        Argument(
            "Recorded cases, or what is to be replayed.",
            metavar="CASE.json|STORE|WORKLOAD",
            takes=str,
        ),
    ],
    policy: Annotated[
        str | None,
        Option("Instead of the policy of the file.", metavar="NAME[param=value,...]"),
    ] = None,
) -> list[Scored]:
    """Answer every case of a file; see ``tracekit.replay.cases.scoring.score_file``."""
    from tracekit.replay.cases.scoring import score_file

    return score_file(Path(case), policy)
