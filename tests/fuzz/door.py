"""A door of tracekit: a way in for what others made. One file each in ``doors``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forks import Done
from mutate import Rng


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command line on damaged input.

    Parameters
    ----------
    inputs : how many damaged inputs it takes in
    expected : what the door's own ``verdict`` wants to know of it
    """

    arguments: Sequence[object]
    inputs: int = 1
    expected: object = field(default=None)


class Door:
    """How a door is tried. ``share`` is its part of all cases."""

    share: float

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Put whole inputs into the folder; command lines that make the rest of them."""
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A damaged input in ``folder``, made from what ``start`` holds whole."""
        raise NotImplementedError

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """What is wrong with what the command line did, beyond what is wrong for all."""
        return None


def all_doors() -> dict[str, Door]:
    """Every door by its name."""
    import doors

    names = [module.name for module in pkgutil.iter_modules(doors.__path__)]
    return {
        name: importlib.import_module(f"doors.{name}").DOOR
        for name in sorted(names)
        if not name.startswith("_")
    }


sys.path.insert(0, str(Path(__file__).parent))
