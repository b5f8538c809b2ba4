"""Wraps a library function: if it fails because of a damaged folder, the error names the file."""

import errno
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tracekit.base.errors import TracekitError, is_of_an_engine, nearest, system_error
from tracekit.base.files.places import here, store_error
from tracekit.base.files.result_folder import AGAIN

P = ParamSpec("P")
R = TypeVar("R")

#: Errors of the system that do not come from the content of a file.
_NOT_DAMAGE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.EPIPE,
}


def with_damage_explained(verb: Callable[P, R]) -> Callable[P, R]:
    """Wrap a library function so that its errors name the damaged file or the full disk.

    After an unforeseen error, the folders among the arguments are verified, and the first damaged
    file is raised as the error. The error of an engine on a full or read-only disk becomes an
    OSError. A URL as ``out`` is refused before the call.
    """
    names = list(inspect.signature(verb).parameters)
    at = names.index("out") if "out" in names else len(names)

    @functools.wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if strange := next((name for name in kwargs if name not in names), ""):
            close = nearest(strange, names)
            suggestion = f"did you mean '{close}'?" if close else f"it has: {', '.join(names)}"
            raise TypeError(f"{verb.__name__}() has no argument '{strange}'; {suggestion}")
        out: Any = args[at] if at < len(args) else kwargs.get("out")
        if out is not None:
            here(out)
        try:
            return verb(*args, **kwargs)
        except Exception as error:
            meant = None if isinstance(error, TracekitError) else store_error(error)
            if meant is not None:
                raise meant from error
            is_ours = isinstance(error, TracekitError)
            cause = error.__cause__ if is_ours else error
            # an error of our own stands, unless it only repeats the error of an engine
            if cause is None or (is_ours and not is_of_an_engine(cause)):
                raise
            refused = system_error(cause)
            if refused is not None and refused.errno in _NOT_DAMAGE:
                raise refused from error
            damage = _first_damage([*args, *kwargs.values()])
            if damage is None:
                raise
            raise damage from error

    return called


#: Folders that ``tracekit run`` and ``tracekit requests`` write beside a store, for reports.
_BESIDE = ("store", "analysis", "calls", "fit", "bound", "size", "replay")


def _first_damage(given: Iterable[Any]) -> TracekitError | None:
    """The first damaged file of the folders and of the folders beside them; None for none."""
    around = (one for folder in _folders(given) for one in _with_beside(folder))
    damages = (_damage_of(folder) for folder in dict.fromkeys(around) if folder.is_dir())
    return next((one for one in damages if one is not None), None)


def _folders(given: Iterable[Any]) -> Iterator[Path]:
    """The folders among arguments, also in lists."""
    for one in given:
        if isinstance(one, str | os.PathLike):
            path = Path(str(one).rpartition(":")[2] if isinstance(one, str) else one)
            if os.path.isdir(path):  # noqa: PTH112 - what cannot be a path is no folder
                yield path
        elif isinstance(one, list | tuple):
            yield from _folders(one)


def _with_beside(folder: Path) -> Iterator[Path]:
    whole = folder.resolve()
    yield folder
    for base in (whole.parent, whole):
        yield from (base / name for name in _BESIDE)
        yield from sorted(base.glob("studies/*"))


def _damage_of(folder: Path) -> TracekitError | None:
    from tracekit.commands._verify import Subset, verified_one

    try:
        outcome = verified_one(folder, Subset())
    except TracekitError as error:
        return error
    if outcome is None or not outcome.damaged:
        return None
    first = outcome.damaged[0]
    hint = AGAIN
    if first.source_file is not None:
        hint = f"it is of {first.source_file}: an ingest of that file mends the store"
    return TracekitError(f"{folder / first.path} is damaged: {first.found}", hint=hint)
