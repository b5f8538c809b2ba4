"""The files of one kind that are ingested together."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.intake.sources._cluster import Opened


@dataclass(frozen=True)
class Parts:
    """The files of one kind that are ingested together, in the order of their names.

    A life may begin in one file and end in another, so the first file gives the rows of all.
    """

    files: tuple[Opened, ...]
    first: bool

    @classmethod
    def of(cls, opened: Opened, word: str) -> Parts:
        """The files beside this one, and whether this is the first; a member of a tar is alone."""
        files = {_place(one): one for one in opened.beside.get(word, ())}
        if _place(opened) not in files:
            return cls((opened,), first=True)
        ordered = sorted(files)
        return cls(tuple(files[at] for at in ordered), ordered[0] == _place(opened))

    @staticmethod
    def same(one: Opened, other: Opened) -> bool:
        """Whether two opened files are one file."""
        return _place(one) == _place(other)


def _place(opened: Opened) -> tuple[str, str]:
    return str(opened.path), opened.name
