"""Searches a whole folder: files, links to folders, and whatever is neither."""

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base.files.places import is_remote
from tracekit.base.opened import sort_of


@dataclass
class Searched:
    """The result of a search; hidden names, which begin with a dot, are left out.

    Attributes
    ----------
    files : in no order
    others : what is no file, with what it is instead
    closed : folders that may not be read, with the system's reason
    """

    files: list[Path] = field(default_factory=list)
    others: list[tuple[Path, str]] = field(default_factory=list)
    closed: list[tuple[Path, str]] = field(default_factory=list)


def search(folder: Path) -> Searched:
    """Search a folder, and the folders in it; each once, however many links lead there."""
    if is_remote(folder):
        return Searched(files=[path for path in folder.rglob("*") if _is_seen(path, folder)])
    found = Searched()
    real = folder.resolve()
    # a link to a folder above would lead out of this one, and back into it
    seen = {_identity(one) for one in (real, *real.parents)}
    folders, links = deque([folder]), deque[Path]()
    while folders or links:
        here = folders.popleft() if folders else links.popleft()
        if here.is_symlink() and here != folder:
            if _identity(here) in seen:
                found.others.append((here, "a link to a folder that is searched already"))
                continue
            seen.add(_identity(here))
        for path in _listed(here, found):
            if path.is_file():
                found.files.append(path)
            elif not path.is_dir():
                found.others.append((path, what_it_is(path)))
            elif path.is_symlink():
                # real folders first: their files keep their real names
                links.append(path)
            else:
                seen.add(_identity(path))
                folders.append(path)
    return found


def what_it_is(path: Path) -> str:
    """What is at a path that is neither file nor folder."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"a link that leads nowhere ({error.strerror})"
    return sort_of(mode) or "no file"


def _is_seen(path: Path, folder: Path) -> bool:
    names = str(path.relative_to(folder)).split("/")
    return not any(name.startswith(".") for name in names) and path.is_file()


def _listed(folder: Path, found: Searched) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        found.closed.append((folder, error.strerror or str(error)))
        return []


def _identity(path: Path) -> tuple[int, int]:
    about = os.stat(path)  # noqa: PTH116 - as many as there are folders
    return about.st_dev, about.st_ino
