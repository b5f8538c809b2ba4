"""Verbs that make a study: checked before it is computed, written once it is."""

from collections.abc import Callable
from pathlib import Path

from tracekit.base.crew import Alone, Crew, Workers
from tracekit.base.study import STUDY_FOLDER, Study, write_study


def made(study: Callable[[Crew], Study], out: str | Path | None, *, jobs: int = 1) -> Study:
    """The study, computed by so many processes; written to ``out`` if given.

    Raises TracekitError as the study does, and for an ``out`` that holds anything but a study.
    """
    if out is not None:
        STUDY_FOLDER.check_free(Path(out))
    crew: Crew = Workers(jobs) if jobs > 1 else Alone()
    try:
        found = study(crew)
    finally:
        crew.close()
    if out is not None:
        write_study(found, Path(out))
    return found
