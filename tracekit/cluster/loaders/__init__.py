"""Workloads other than a store's trace: the interface here, one loader per file beside it.

``--workload`` takes ``NAME[param=value,...]:PATH``, ``NAME:PATH``, ``NAME`` for a workload that is
made up, or just a path, whose loader is then found by what lies there. A loader is a frozen
dataclass: its fields are its assumptions, and are written into the run with their values.
"""

import dataclasses
import functools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import ClassVar

import numpy as np

from tracekit.base import parameters, registry
from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload

_SPELLED = re.compile(r"(?P<name>[a-z]\w*)(?P<given>\[[^\]]*\])?(?::(?P<path>.*))?")


@dataclass(frozen=True, kw_only=True)
class WorkloadLoader:
    """Base of every loader.

    Attributes
    ----------
    title : str
        What the workload is, in a line.
    source : str
        Where its files, or the rule that makes it up, are from.
    files : str
        What a path must hold; empty for a workload that is made up.
    licence : str
        Under which its files may be used, as upstream states it.
    """

    title: ClassVar[str]
    source: ClassVar[str]
    files: ClassVar[str] = ""
    licence: ClassVar[str] = ""

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def load(self, path: Path, rng: np.random.Generator) -> Workload:
        """Read or make the workload; what is drawn is drawn from ``rng``.

        Raises
        ------
        TracekitError
            When the files are not of this kind, or hold what no workload can.
        """
        raise NotImplementedError

    @classmethod
    def recognises(cls, path: Path) -> bool:  # noqa: ARG003
        """Whether what lies at the path looks like this kind of workload."""
        return False

    @classmethod
    def name(cls) -> str:
        """The loader's public name: its file's."""
        return cls.__module__.rpartition(".")[2]


@functools.cache
def all_loaders() -> dict[str, type[WorkloadLoader]]:
    """Every loader, by name."""
    return registry.subclasses(sys.modules[__name__], WorkloadLoader)


def load_workload(text: str, rng: np.random.Generator, *, assume: Sequence[str] = ()) -> Workload:
    """The workload that ``--workload`` and ``--assume`` spell.

    Raises
    ------
    TracekitError
        For an unknown loader or parameter, a path that is not there or that no loader reads.
    """
    kind, given, path = _resolved(text)
    for setting in assume:
        name, equals, value = setting.partition("=")
        if not equals:
            raise TracekitError(f"assumption '{setting}' is not name=value")
        given[name.strip()] = value.strip()
    loader = parameters.build(kind, f"workload {kind.name()}", given)
    if not isinstance(loader, WorkloadLoader):
        raise TypeError(kind)
    return loader.load(path, rng)


def values(loader: WorkloadLoader) -> dict[str, object]:
    """Every parameter of a loader by name, for the workload's assumptions."""
    return dataclasses.asdict(loader)


def resolved(text: str) -> str:
    """The same workload, spelled so that it is found from any folder; raises as loading it does."""
    return respelled(text, lambda path: str(path.resolve()))


def respelled(text: str, spell: Callable[[Path], str]) -> str:
    """The same workload with its path as ``spell`` writes it; raises as loading it does."""
    kind, given, path = _resolved(text)
    if not kind.files:
        return text
    settings = ",".join(f"{name}={value}" for name, value in given.items())
    return f"{kind.name()}{f'[{settings}]' if settings else ''}:{spell(path)}"


def spelled(text: str) -> tuple[str, dict[str, str], str]:
    """A loader's name, its settings and its path, of a workload as ``respelled`` writes it."""
    found = _SPELLED.fullmatch(text)
    if found is None:
        return "", {}, text
    _, given = parameters.split(found["name"] + (found["given"] or ""))
    return found["name"], dict(given), found["path"] or ""


def _resolved(text: str) -> tuple[type[WorkloadLoader], dict[str, str], Path]:
    spelled = _SPELLED.fullmatch(text)
    if Path(text).exists() or not spelled or _is_path(spelled):
        return _recognised(Path(text)), {}, Path(text)
    listing = "tracekit list workloads"
    kind = registry.pick(all_loaders(), spelled["name"], "workload", listing=listing)
    _, given = parameters.split(spelled["name"] + (spelled["given"] or ""))
    path = spelled["path"] or ""
    if bool(path) != bool(kind.files):
        raise TracekitError(
            f"workload '{text}': " + ("a path is missing" if kind.files else "it takes no path"),
            hint=f"write {kind.name()}:PATH, PATH with {kind.files}" if kind.files else kind.title,
        )
    if path and not Path(path).exists():
        raise TracekitError(f"no such file or folder: {path}", hint=f"PATH holds {kind.files}")
    return kind, given, Path(path)


def _is_path(spelled: re.Match[str]) -> bool:
    """A bare word that is no loader's name is taken for a path."""
    return spelled["path"] is None and not spelled["given"] and spelled["name"] not in all_loaders()


def _recognised(path: Path) -> type[WorkloadLoader]:
    readers = {name: kind for name, kind in all_loaders().items() if kind.files}
    if not path.exists():
        raise TracekitError(
            f"no such workload: {path}", hint=f"give a path, or one of: {', '.join(all_loaders())}"
        )
    found = [kind for kind in readers.values() if kind.recognises(path)]
    if not found:
        known = "; ".join(f"{name}: {kind.files}" for name, kind in readers.items())
        stored = f"tracekit ingest {quote(str(path))} STORE, and replay STORE without --workload"
        raise TracekitError(
            f"'{path}' holds no workload that is known",
            hint=f"traces of a cluster go into a store first: {stored}; {known}",
        )
    return found[0]
