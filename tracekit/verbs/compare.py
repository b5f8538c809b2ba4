"""What changed from one run to another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.replay.runs.run_compare import compare_runs
from tracekit.study import Study
from tracekit.verbs._study import made


def compare(
    base: str | Path,
    new: str | Path,
    *,
    fail_if: Sequence[str] = (),
    out: str | Path | None = None,
) -> Study:
    """What changed from one run folder to another; see ``tracekit.replay.runs.run_compare``.

    The study is written to ``out`` if given, for the report.
    """
    return made(lambda _: compare_runs(Path(base), Path(new), fail_if=fail_if), out)
