"""The files of a user's own policies, in results and in the commands that results print.

The name of a policy holds no path, so that a run is the same in any folder. A command that repeats
the policy needs the path of its file.
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

#: The key of the files in the document of a result.
FILES = "files"


def files_of(policies: Iterable[Entrant], folder: Path | None = None) -> list[dict[str, str]]:
    """The files in which policies are written, each once, with the digest of its content.

    Parameters
    ----------
    folder : path, optional
        The folder of the result's document. Paths are relative to it, so that files and result can
        be moved together; without it they are relative to the working folder.
    """
    names = dict.fromkeys(name for policy in policies for name in policy.written_in())
    return [
        {
            "path": named_from(folder or Path(), Path(name)),
            "sha256": hashlib.sha256(read_bytes(Path(name))).hexdigest(),
        }
        for name in names
    ]


def address(policy: Entrant) -> str:
    """The spelling of a policy for any process: with its file if it has one, else with its name."""
    return policy.address() if policy.written_in() else str(policy)


def noted(policies: Iterable[Entrant], folder: Path | None = None) -> dict[str, Any]:
    """The entry of the policies' files in a document; empty if no policy has a file."""
    files = files_of(policies, folder)
    return {FILES: files} if files else {}


def by_name(
    files: Iterable[Mapping[str, str]], spell: Callable[[str], str] = os.path.normpath
) -> dict[str, str]:
    """The paths of noted files by the name of the policy; ``spell`` changes each path."""
    return {_name(one["path"]): spell(one["path"]) for one in files}


def as_given(text: str, files: Mapping[str, str]) -> str:
    """A policy's text for ``--policy``, with the paths of ``by_name`` in place of names."""
    return "+".join(_with_path(term, files) for term in terms_of(text)) if files else text


def _with_path(term: str, files: Mapping[str, str]) -> str:
    named, bracket, parameters = term.partition("[")
    weight, star, name = named.rpartition("*")
    return f"{weight}{star}{files.get(name, name)}{bracket}{parameters}"


def _name(path: str) -> str:
    """The name of a policy in a file: the stem of a module, the full name of a document."""
    return Path(path).stem if path.endswith(".py") else Path(path).name
