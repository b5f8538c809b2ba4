"""The files of a user's own policies: noted in results, and spelled in the commands they print.

A policy's name says nothing of where folders lie, so that a run is the same in any folder; a
command that asks for it again has to say in which file it is.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tracekit.base.files.places import named_from
from tracekit.base.opened import read_bytes
from tracekit.policy.entrant import Entrant
from tracekit.policy.parse import terms_of

#: The key of a result's document under which its files are noted.
FILES = "files"


def files_of(policies: Iterable[Entrant], folder: Path | None = None) -> list[dict[str, str]]:
    """The files in which policies are written, each once, with the digest of what they say.

    Parameters
    ----------
    folder : path, optional
        That of the document which notes them: their paths are as seen from there, so that all can
        be moved together. Without it as seen from the working folder.
    """
    found = dict.fromkeys(name for policy in policies for name in policy.written_in())
    return [
        {
            "path": named_from(folder or Path(), Path(name)),
            "sha256": hashlib.sha256(read_bytes(Path(name))).hexdigest(),
        }
        for name in found
    ]


def address(policy: Entrant) -> str:
    """A policy as any process finds it: one of one's own by its file, any other by its name."""
    return policy.address() if policy.written_in() else str(policy)


def noted(policies: Iterable[Entrant], folder: Path | None = None) -> dict[str, Any]:
    """What a document notes of them, under its key; nothing where none is in a file."""
    files = files_of(policies, folder)
    return {FILES: files} if files else {}


def by_name(
    files: Iterable[Mapping[str, str]], told: Callable[[str], str] = os.path.normpath
) -> dict[str, str]:
    """The paths of noted files, each by the name that its policy has; ``told`` respells a path."""
    return {_name(one["path"]): told(one["path"]) for one in files}


def as_given(text: str, files: Mapping[str, str]) -> str:
    """A policy as ``--policy`` takes it: its own files by their paths, as ``by_name`` has them."""
    return "+".join(_with_path(term, files) for term in terms_of(text)) if files else text


def _with_path(term: str, files: Mapping[str, str]) -> str:
    named, bracket, parameters = term.partition("[")
    weight, star, name = named.rpartition("*")
    return f"{weight}{star}{files.get(name, name)}{bracket}{parameters}"


def _name(path: str) -> str:
    """What a policy in a file is called: a module by its stem, a document with its ending."""
    return Path(path).stem if path.endswith(".py") else Path(path).name
