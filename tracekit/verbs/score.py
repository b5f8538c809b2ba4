"""Score recorded scheduling cases with the code that the replay runs."""

from __future__ import annotations

from pathlib import Path

from tracekit.replay.cases.scoring import Scored, score_file


def score(case: str | Path, policy: str | None = None) -> list[Scored]:
    """Answer every case of a file; see ``tracekit.replay.cases.scoring.score_file``."""
    return score_file(Path(case), policy)
