"""A sizing run as a report reads it: where it lies, its manifest and its frames."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.errors import TracekitError
from tracekit.files.parquet import read_frame
from tracekit.files.places import is_remote
from tracekit.sizing.run_folder import SIZING_FOLDER

#: Frames of the run folder that a report shows; those in brackets of a run may be absent.
FRAMES = ("summary", "claims", "containers")
OPTIONAL = ("training", "sensitivity")
#: What ``tracekit requests`` is told to write when it is to be found beside the store.
BESIDE = "size"


@dataclass(frozen=True)
class SizingRun:
    """A sizing run: its manifest, and frames by name."""

    manifest: Mapping[str, Any]
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def find_sizing(source: Path, store: Path | None) -> Path | None:
    """The source itself when it is a sizing run, else the folder ``size`` beside the store."""
    if SIZING_FOLDER.holds(source):
        return source
    # results lie on this machine, and so nothing lies beside a store on an object store
    beside = None if store is None or is_remote(store) else store.resolve().parent / BESIDE
    return beside if beside is not None and SIZING_FOLDER.holds(beside) else None


def read_sizing(folder: Path) -> SizingRun:
    """Read a sizing run; raises TracekitError when one of its files is gone."""
    frames = {}
    for name in (*FRAMES, *OPTIONAL):
        path = folder / f"{name}.parquet"
        if path.is_file():
            frames[name] = read_frame(path)
        elif name in FRAMES:
            raise TracekitError(
                f"the sizing run {folder} has no {name}.parquet",
                hint="size anew: tracekit requests STORE --by calls --out RUN",
            )
    return SizingRun(SIZING_FOLDER.read(folder), frames)
