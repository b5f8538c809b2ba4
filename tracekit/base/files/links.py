"""Links in a folder of data: who put them there must not decide where a command writes."""

from collections.abc import Iterable
from pathlib import Path

from tracekit.base.errors import TracekitError


def check_no_link(paths: Iterable[Path]) -> None:
    """Raise TracekitError for the first path that is a link: a command would write through it."""
    for path in paths:
        if path.is_symlink():
            raise TracekitError(
                f"{path} is a link to {path.readlink()}: nothing is written through it",
                hint="remove it, or put what it leads to in its place",
            )


def written_of_fetch(folder: Path) -> Iterable[Path]:
    """What a fetch writes into in a folder: its sub-folders, and hidden files of its own."""
    return (one for one in folder.rglob("*") if one.is_dir() or one.name.startswith("."))
