"""A door of tracekit: a kind of input from outside. Doors are objects in the files of ``doors``."""

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
    """The trial of a door.

    ``share`` is its share of all cases; a refused command leaves none of its ``results``.
    """

    share: float
    results: Sequence[str] = ()

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Write whole inputs to the folder; returns command lines that make further inputs."""
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A damaged input in ``folder``, made from the whole inputs in ``start``."""
        raise NotImplementedError

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """The fault of a command line by the rules of this door; None without one."""
        if done.code == 2 and any((folder / name).exists() for name in self.results):
            return "refused, but a result was written"
        return None


def all_doors() -> dict[str, Door]:
    """Every door by its name."""
    import doors

    names = [module.name for module in pkgutil.iter_modules(doors.__path__)]
    modules = [importlib.import_module(f"doors.{name}") for name in names]
    every = {
        name.lower(): thing
        for module in modules
        for name, thing in vars(module).items()
        if isinstance(thing, Door)
    }
    return dict(sorted(every.items()))


sys.path.insert(0, str(Path(__file__).parent))
