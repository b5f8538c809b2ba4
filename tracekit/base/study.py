"""Study folders: what a study found, as Parquet frames beside a document that says what it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.files.parquet import read_frame
from tracekit.base.files.result_folder import STUDY, ResultFolder, kind_of
from tracekit.base.opened import NoFileError
from tracekit.base.shown import Shown

SCHEMA = "tracekit/study/1"
#: Studies in a folder of this name belong to the store or run that lies beside it.
BESIDE = "studies"
STUDY_FOLDER = ResultFolder(what="study", schema=SCHEMA, document=STUDY)


@dataclass(frozen=True, kw_only=True, repr=False)
class Study(Shown):
    """What a study found.

    Parameters
    ----------
    name : str
        Of the study, for example ``search_functions``; report pages ask for it.
    about : mapping
        What was studied, with every parameter; JSON values.
    frames : mapping of str to frame
    """

    name: str
    about: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame]


def write_study(study: Study, out: Path) -> None:
    """Write a study folder, whole or not at all; one that is there is replaced."""
    document = {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "study": study.name,
        "about": dict(study.about),
        "frames": sorted(study.frames),
    }
    STUDY_FOLDER.write(out, document, study.frames)


def read_study(folder: Path) -> Study:
    """A study from its folder; TracekitError where it is none, or a file of it is gone."""
    if kind := kind_of(folder):
        raise TracekitError(
            f"{folder} is a folder of tracekit {kind}, no study folder",
            hint="where it lies beside the run, its report shows it without being asked",
        )
    try:
        document = STUDY_FOLDER.sound(folder)
        frames = {name: read_frame(folder / f"{name}.parquet") for name in document["frames"]}
    except NoFileError:
        raise
    except FileNotFoundError as error:
        raise TracekitError(
            f"{folder} is no study folder: {Path(error.filename).name} is not there",
            hint="run the study again with --out",
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise TracekitError(
            f"{folder} is no study folder, or is damaged: {error}",
            hint="run the study again with --out",
        ) from error
    return Study(name=document["study"], about=document["about"], frames=frames)
