"""The studies that a report shows: those given, and those in the folder ``studies`` beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.study import STUDY_FOLDER, Study, read_study

#: Studies in a folder of this name belong to the store or run that lies beside it.
BESIDE = "studies"


def read_studies(source: Path, given: Sequence[Path]) -> Mapping[str, Study]:
    """Studies by name; of two of one name the given one counts, the last if several.

    Raises
    ------
    TracekitError
        For a given folder that is no study's. A damaged one that merely lies there is left out.
    """
    found = {}
    for folder in [] if STUDY_FOLDER.holds(source) else _beside(source):
        with contextlib.suppress(TracekitError):
            study = read_study(folder)
            found[study.name] = study
    for folder in [*([source] if STUDY_FOLDER.holds(source) else []), *given]:
        study = read_study(folder)
        found[study.name] = study
    return dict(sorted(found.items()))


def _beside(source: Path) -> list[Path]:
    folder = source.resolve().parent / BESIDE
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if STUDY_FOLDER.holds(path))
