"""Study folders of which one file is damaged."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from mutate import Rng

from doors._folders import damage


class Study(Door):
    """A report of a damaged study."""

    share = 0.02

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole study: the comparison of two runs."""
        made = ("replay", "--workload", "paper000", "--policy", "first_fit")
        return (
            (*made, "--out", "base"),
            (*made, "--policy", "best_fit", "--out", "new"),
            ("compare", "base", "new", "--out", "study"),
        )

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start / "study", folder / "study")
        return Case(
            arguments=("report", "study", "--out", "report.html"),
            expected=damage(folder / "study", rng),
        )


DOOR = Study()
