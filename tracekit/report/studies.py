"""The studies that a report shows: those it is given, and those that lie beside its source."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.study import Study, is_study_folder, read_study


def read_studies(source: Path, given: Sequence[Path]) -> Mapping[str, Study]:
    """Studies by name; of two of one name the given one counts, the last if several.

    Raises
    ------
    TracekitError
        For a given folder that is no study's. A damaged one that merely lies there is left out.
    """
    found = {}
    for folder in [] if is_study_folder(source) else _beside(source):
        with contextlib.suppress(TracekitError):
            study = read_study(folder)
            found[study.name] = study
    for folder in [*([source] if is_study_folder(source) else []), *given]:
        study = read_study(folder)
        found[study.name] = study
    return dict(sorted(found.items()))


def _beside(source: Path) -> list[Path]:
    parent = source.resolve().parent
    return sorted(path for path in parent.iterdir() if path.is_dir() and is_study_folder(path))
