"""Studies of commands: computed, written and printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.crew import Alone, Crew, Workers
from tracekit.base.study import STUDY_FOLDER, Study, write_study
from tracekit.commands.shell.output import print_json

if TYPE_CHECKING:
    from tracekit.base.facts import Fact


def made(study: Callable[[Crew], Study], out: str | Path | None, *, jobs: int = 1) -> Study:
    """Return what ``study`` computes with ``jobs`` processes; write it to ``out`` if given.

    Raises TracekitError as the study does, and for an ``out`` that holds anything but a study.
    """
    if out is not None:
        STUDY_FOLDER.check_free(Path(out))
    crew: Crew = Workers(jobs) if jobs > 1 else Alone()
    try:
        result = study(crew)
    finally:
        crew.close()
    if out is not None:
        write_study(result, Path(out))
    return result


def print_bench(
    result: Study,
    experiment: str,
    schema: str,
    names: Sequence[str],
    out: Path | None,
    *,
    json: bool,
    show: Callable[[Study, Sequence[Fact]], None],
) -> None:
    """Print the study of an experiment as one JSON document, or by ``show``.

    Parameters
    ----------
    experiment : str
        The experiment whose claims are judged; ``show`` gets the facts on them.
    names : sequence of str
        The parts of the JSON document: frames of the study, and ``facts`` for the claims.
    """
    from tracekit.answer.claims.every import claim_facts

    facts = claim_facts(lambda name: result.frames[name.partition("/")[2]], (experiment,))
    if not json:
        show(result, facts)
        if out is not None:
            print(f"\nstudy: {out}; its page: tracekit report {out} --out report.html")
        return
    parts = {
        name: [one.document() for one in facts]
        if name == "facts"
        else result.frames[name].to_dicts()
        for name in names
    }
    print_json({"schema": f"tracekit/{schema}/1", **result.about, **parts})
