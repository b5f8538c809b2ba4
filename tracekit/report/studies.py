"""The studies that a report shows: those given, and those that lie beside it."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.errors import TracekitError
from tracekit.study import BESIDE, STUDY_FOLDER, Study, read_study
from tracekit.words import listed

#: By these the workload of a study is told from another one's; more load has more containers.
_OF_LOAD = ("nodes", "steps")


@dataclass(frozen=True)
class Studies:
    """What studies there are.

    Parameters
    ----------
    shown : mapping of str to Study
        By the name of the study, those that pages are made of.
    others : sequence of (str, Study)
        Those beside that another one of their name came before, with their folder as it is named
        from the folder ``studies``.
    folders : mapping of str to str
        The folders of those that are shown, by the name of the study, named as those of others.
    """

    shown: Mapping[str, Study]
    others: Sequence[tuple[str, Study]] = ()
    folders: Mapping[str, str] = field(default_factory=dict)


def read_studies(
    source: Path, given: Sequence[Path], *, load: Mapping[str, Any] | None = None
) -> Studies:
    """Studies by name, one of each name.

    A study that is given goes before one that lies beside the source; of several given the last
    counts. Of several beside the source, the first by these rules counts: it assumes what the run
    assumed; it is of the load as recorded; it met more orders of arrival; its folder is the first
    by name. The folder that a run lies in is searched, too. A study of a cluster is left out where
    it does not say that it is of the run's workload.

    Parameters
    ----------
    load : mapping, optional
        The workload of the run that is shown, as its manifest has it.

    Raises
    ------
    TracekitError
        For a given folder that is no study's. A damaged one that merely lies there is left out.
    """
    asked = [(one, read_study(one)) for one in given]
    beside: list[tuple[str, Study]] = []
    for name, folder in [] if STUDY_FOLDER.holds(source) else _beside(source, load):
        with contextlib.suppress(TracekitError):
            study = read_study(folder)
            if load is None or _ours(study, load, near=name == folder.name):
                beside.append((name, study))
    beside.sort(key=lambda one: _farness(one[1], load or {}))
    found: dict[str, Study] = {}
    folders: dict[str, str] = {}
    others = []
    for name, study in beside:
        if found.setdefault(study.name, study) is not study:
            others.append((name, study))
        folders.setdefault(study.name, name)
    own = [(source, read_study(source))] if STUDY_FOLDER.holds(source) else []
    for folder, study in (*own, *asked):
        found[study.name] = study
        folders[study.name] = _named(folder, source)
    return Studies(dict(sorted(found.items())), others, folders)


def of_another(study: Study, load: Mapping[str, Any]) -> bool:
    """Whether a study is of other nodes or of another time than a run."""
    ours = study.about.get("workload", {})
    # a count of nodes that can go leaves out those that left by themselves
    ours = {**ours, "nodes": ours.get("nodes_with_left", ours.get("nodes"))}
    known = [name for name in _OF_LOAD if ours.get(name) is not None]
    return any(ours[name] != load.get(name, ours[name]) for name in known)


def assumed_otherwise(study: Study, load: Mapping[str, Any]) -> list[str]:
    """What a study assumed that a run assumed otherwise, as ``--assume`` takes it."""
    ours = study.about.get("workload", {}).get("assumptions", {})
    theirs = load.get("assumptions", {})
    return [
        f"{name}={value}"
        for name, value in ours.items()
        if name in theirs and theirs[name] != value
    ]


def made_otherwise(study: Study, load: Mapping[str, Any]) -> str:
    """That a study assumed what a run does not, and where they part, a sentence; or empty."""
    otherwise = assumed_otherwise(study, load)
    if not otherwise:
        return ""
    theirs = load["assumptions"]
    parted = [f"{one} where the replay has {theirs[one.partition('=')[0]]}" for one in otherwise]
    return f"Made under other assumptions than this replay: {listed(parted)}."


def _farness(study: Study, load: Mapping[str, Any]) -> tuple[float, ...]:
    """How far a study is from what a run shows: the least goes first."""
    about = study.about
    return (
        bool(assumed_otherwise(study, load)),
        about.get("scale", 1) != 1,
        not about.get("subject"),
        -about.get("repeats", 0),
    )


def _ours(study: Study, load: Mapping[str, Any], *, near: bool) -> bool:
    """Whether a study says that it is of what a run replayed; not all that lies there is.

    What is of no cluster at all belongs to every run, if it lies ``near``.
    """
    about = study.about
    if "workload" not in about and "store" not in about:
        return near
    said = about.get("workload", {}).get("name")
    return said is not None and said == load.get("name") and not of_another(study, load)


def _named(folder: Path, source: Path) -> str:
    """A study's folder as it is named from the folder ``studies`` beside what is shown."""
    around = source.resolve().parent
    start = around if around.name == BESIDE else around / BESIDE
    return os.path.relpath(folder.resolve(), start)


def _beside(source: Path, load: Mapping[str, Any] | None) -> list[tuple[str, Path]]:
    """Folders of studies with their names from the folder ``studies``; it goes first."""
    around = source.resolve().parent
    places = [("", around / BESIDE), *([("../", around)] if load else [])]
    return [
        (f"{prefix}{path.name}", path)
        for prefix, folder in places
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if STUDY_FOLDER.holds(path)
    ]
