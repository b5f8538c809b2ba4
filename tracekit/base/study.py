"""Study folders: the frames of a study as Parquet files, with a document on its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import STUDY, ResultFolder, kind_of, read_frame
from tracekit.base.opened import NoFileError
from tracekit.base.shown import Shown

SCHEMA = "tracekit/study/1"
#: Studies in a folder of this name belong to the store or run that lies beside it.
BESIDE = "studies"
STUDY_FOLDER = ResultFolder(what="study", schema=SCHEMA, document=STUDY)


@dataclass(frozen=True, kw_only=True, repr=False)
class Study(Shown):
    """The frames and parameters of a study, an experiment whose results a report can show.

    Parameters
    ----------
    name : str
        For example ``search_functions``; pages of the report find the study by it.
    about : mapping
        Every parameter of the study, as JSON values.
    frames : mapping of str to DataFrame
        Each is ``NAME.parquet`` in a study folder.
    """

    name: str
    about: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame]


def write_study(study: Study, out: Path) -> None:
    """Write a study folder atomically. It replaces an existing study folder."""
    document = {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "study": study.name,
        "about": dict(study.about),
        "frames": sorted(study.frames),
    }
    STUDY_FOLDER.write(out, document, study.frames)


def read_study(folder: Path) -> Study:
    """Read a study from its folder.

    Raises
    ------
    TracekitError
        When the folder is no study folder, or a file is missing or damaged.
    """
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
