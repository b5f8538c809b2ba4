"""The studies that a report shows: those given, and those that lie beside it."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.base.study import BESIDE, STUDY_FOLDER, Study, read_study

#: By these the workload of a study is told from another one's; more load has more containers.
_OF_LOAD = ("name", "nodes", "steps")


def folders_of_studies(source: Path, given: Sequence[Path]) -> dict[str, Path]:
    """Folders of studies by their names; one that is given goes before one beside the source."""
    around = source.resolve().parent
    beside = around if around.name == BESIDE else around / BESIDE
    folders = sorted(beside.iterdir()) if beside.is_dir() else []
    own = [source] if STUDY_FOLDER.holds(source) else []
    shown = own or [one for one in folders if STUDY_FOLDER.holds(one)]
    return {one.resolve().name: one for one in (*shown, *given)}


def read_studies(
    folders: Mapping[str, Path], given: Sequence[Path], load: Mapping[str, Any] | None
) -> dict[str, Study]:
    """The studies of these folders; of those not given, the ones of the run's workload.

    Parameters
    ----------
    load : mapping, optional
        The workload of the run that is shown, as its manifest has it.

    Raises
    ------
    TracekitError
        For a given folder that is no study's. A damaged one that merely lies there is left out.
    """
    found = {}
    for name, folder in folders.items():
        if folder in given:
            found[name] = read_study(folder)
            continue
        with contextlib.suppress(TracekitError):
            study = read_study(folder)
            if load is None or of_load(study, load):
                found[name] = study
    return found


def of_load(study: Study, load: Mapping[str, Any]) -> bool:
    """Whether a study is of what a run replayed; one that is of no cluster belongs to every run."""
    ours = study.about.get("workload")
    if ours is None:
        return "store" not in study.about
    # a count of nodes that can go leaves out those that left by themselves
    ours = {**ours, "nodes": ours.get("nodes_with_left", ours.get("nodes"))}
    return all(ours[name] == load.get(name, ours[name]) for name in _OF_LOAD if ours.get(name))
