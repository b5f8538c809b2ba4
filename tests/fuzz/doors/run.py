"""Run folders of which one file is damaged, through every command that reads a run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from mutate import Rng, any_of

from doors._folders import damage

_COMMANDS = (
    ("report", "new", "--out", "report.html"),
    ("compare", "base", "new"),
    ("compare", "new", "base", "--fail-if", "imbalance_mean > base", "--json"),
    ("replay", "--workload", "paper000", "--policy", "first_fit", "--out", "new"),
)


class Run(Door):
    """One command on a damaged run at a time."""

    share = 0.05

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Two whole runs."""
        made = ("replay", "--workload", "paper000", "--policy", "first_fit")
        return ((*made, "--out", "base"), (*made, "--policy", "random", "--out", "new"))

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        damaged = damage(folder / "new", rng)
        return Case(arguments=any_of(rng, _COMMANDS), expected=damaged)


DOOR = Run()
