"""Wraps a verb: if it fails because a folder is damaged, the error names the folder."""

import errno
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tracekit.base.engine_errors import is_of_an_engine, system_error
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.places import here, store_error

P = ParamSpec("P")
R = TypeVar("R")

#: The system's refusals that have nothing to do with what a file holds.
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


def sound(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb; where it fails unforeseen, the folders it was given are looked at first.

    What a full or forbidding disk makes an engine raise comes out as OSError. Where a result is to
    be written, a URL is refused before anything is done.
    """
    names = list(inspect.signature(verb).parameters)
    at = names.index("out") if "out" in names else len(names)

    @functools.wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if strange := next((name for name in kwargs if name not in names), ""):
            close = nearest(strange, names)
            near = f"did you mean '{close}'?" if close else f"it has: {', '.join(names)}"
            raise TypeError(f"{verb.__name__}() has no argument '{strange}'; {near}")
        out: Any = args[at] if at < len(args) else kwargs.get("out")
        if out is not None:
            here(out)
        try:
            return verb(*args, **kwargs)
        except Exception as error:
            meant = None if isinstance(error, TracekitError) else store_error(error)
            if meant is not None:
                raise meant from error
            told = isinstance(error, TracekitError)
            cause = error.__cause__ if told else error
            # what was told on purpose stands, unless all it tells is what an engine said
            if cause is None or (told and not is_of_an_engine(cause)):
                raise
            refused = system_error(cause)
            if refused is not None and refused.errno in _NOT_DAMAGE:
                raise refused from error
            damage = _damage([*args, *kwargs.values()])
            if damage is None:
                raise
            raise damage from error

    return called


def _damage(given: Iterable[Any]) -> TracekitError | None:
    from tracekit.commands._damage import first_damage

    return first_damage(_folders(given))


def _folders(given: Iterable[Any]) -> Iterator[Path]:
    """The folders among a verb's arguments, and those that lists of them name."""
    for one in given:
        if isinstance(one, str | os.PathLike):
            path = Path(str(one).rpartition(":")[2] if isinstance(one, str) else one)
            if os.path.isdir(path):  # noqa: PTH112 - what cannot be a path is no folder
                yield path
        elif isinstance(one, list | tuple):
            yield from _folders(one)
