"""Study folders: what a study found, as Parquet frames beside a document that says what it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracekit._version import VERSION
from tracekit.errors import TracekitError
from tracekit.whole_folder import written_whole

SCHEMA = "tracekit/study/1"
DOCUMENT = "study.json"


@dataclass(frozen=True, kw_only=True)
class Study:
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


def is_study_folder(folder: Path) -> bool:
    """Whether a folder is a study's."""
    return (folder / DOCUMENT).is_file()


def check_study_folder(out: Path) -> None:
    """Raise TracekitError unless ``out`` is free, or holds a study that may be replaced."""
    if out.is_file():
        raise TracekitError(f"--out {out} is a file, expected a folder")
    if out.is_dir() and any(out.iterdir()) and not is_study_folder(out):
        raise TracekitError(
            f"--out {out} holds other things than a study", hint="name a new folder: --out DIR"
        )


def write_study(study: Study, out: Path) -> None:
    """Write a study folder, whole or not at all; one that is there is replaced."""
    check_study_folder(out)
    with written_whole(out) as made:
        for name, frame in study.frames.items():
            frame.write_parquet(made / f"{name}.parquet")
        document = {
            "schema": SCHEMA,
            "tool_version": VERSION,
            "study": study.name,
            "about": dict(study.about),
            "frames": sorted(study.frames),
        }
        text = json.dumps(document, indent=2, ensure_ascii=False)
        (made / DOCUMENT).write_text(f"{text}\n", encoding="utf-8")


def read_study(folder: Path) -> Study:
    """A study from its folder; TracekitError where it is none, or a file of it is gone."""
    path = folder / DOCUMENT
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        frames = {name: pl.read_parquet(folder / f"{name}.parquet") for name in document["frames"]}
    except (OSError, ValueError, KeyError) as error:
        raise TracekitError(
            f"{folder} is no study folder, or is damaged: {error}",
            hint="run the study again with --out",
        ) from error
    return Study(name=document["study"], about=document["about"], frames=frames)
