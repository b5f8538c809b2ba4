"""Results that show themselves in a notebook and at a prompt, by the printer of the report."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any


def _printer() -> Any:
    # rooms below the report have results, too; the printer is loaded when one is shown
    return importlib.import_module("tracekit.report.notebook")


class Shown:
    """Mixed into a dataclass (``repr=False``), or a mapping: it shows itself."""

    def __repr__(self) -> str:
        """Its facts, and where the rest is; never its data."""
        return str(_printer().text_of(self))

    def _repr_html_(self) -> str:
        return str(_printer().html_of(self))


class EntriesShown(list[Mapping[str, Any]]):
    """The entries of a kind, as a list that shows itself: name and title of each."""

    def __init__(self, kind: str, entries: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(entries)
        self._kind = kind

    def __repr__(self) -> str:
        """How many there are."""
        return f"{len(self)} {self._kind.replace('_', ' ')}"

    def _repr_html_(self) -> str:
        rows = [(str(one["name"]), str(one.get("title", ""))) for one in self]
        return str(_printer().html_of_rows(repr(self), ["name", "title"], rows))
