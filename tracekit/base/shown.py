"""Results that show themselves in a notebook and at a prompt, with the printer of the report."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any


def _printer() -> Any:
    # packages below the report have results, so the printer is imported when one is shown
    return importlib.import_module("tracekit.report.notebook")


class Shown:
    """Base class of results whose ``repr`` and notebook view print their facts."""

    def __repr__(self) -> str:
        """The facts of the result, and the way to its data."""
        return str(_printer().text_of(self))

    def _repr_html_(self) -> str:
        return str(_printer().html_of(self))


class EntriesShown(list[Mapping[str, Any]]):
    """A list of entries (mappings) whose notebook view is a table of their names and titles."""

    def __init__(self, kind: str, entries: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(entries)
        self._kind = kind

    def __repr__(self) -> str:
        """The number of entries."""
        return f"{len(self)} {self._kind.replace('_', ' ')}"

    def _repr_html_(self) -> str:
        rows = [(str(one["name"]), str(one.get("title", ""))) for one in self]
        return str(_printer().html_of_rows(repr(self), ["name", "title"], rows))
