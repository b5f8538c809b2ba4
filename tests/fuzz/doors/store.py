"""Stores of which one file is damaged, through every command that reads a store."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from mutate import Rng, any_of
from tests_support import TraceFolder

from doors._folders import damage

_COMMANDS = (
    ("info", "store"),
    ("check", "store"),
    ("check", "store", "--verify"),
    ("query", "store", "usage/zone_summary"),
    ("query", "store", "quality/ledger"),
    ("ingest", "traces", "store", "--jobs", "1"),
    ("plan", "store"),
    ("analyze", "store", "--out", "analysis"),
    ("callgraph", "store", "--out", "calls", "--jobs", "1"),
    ("replay", "store", "--policy", "first_fit", "--out", "myrun"),
    ("fit", "store", "--out", "fit"),
    ("report", "store", "--out", "report.html"),
)


class Store(Door):
    """One command on a damaged store at a time."""

    share = 0.05

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole store and the traces it is made of."""
        TraceFolder.written(folder / "traces")
        return (("ingest", "traces", "store", "--jobs", "1"),)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        damaged = damage(folder / "store", rng)
        return Case(arguments=any_of(rng, _COMMANDS), expected=damaged)


DOOR = Store()
