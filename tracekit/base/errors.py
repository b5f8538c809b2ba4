"""Errors that the user can mend, and errors of the operating system inside those of libraries."""

import difflib
import errno
import os
import re
from collections.abc import Iterable, Sequence


class TracekitError(Exception):
    """An error that the user can correct. The command line prints it without a traceback.

    Parameters
    ----------
    what : str
        One line with the fault, the value found, and the expected value.
    hint : str, optional
        The remedy.
    details : sequence of str
        Further lines below the first.
    """

    exit_code = 2

    def __init__(self, what: str, *, hint: str | None = None, details: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.details = tuple(details)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error with all its attributes, for errors of workers."""
        return _again, (type(self), self.args, self.__dict__)


def _again(
    kind: type[TracekitError], args: tuple[object, ...], state: dict[str, object]
) -> TracekitError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class CheckFailedError(TracekitError):
    """The error for a requested check that fails after the command did its work; exit code 1."""

    exit_code = 1


#: The least number of first letters that identify a word.
_BEGUN = 3


def nearest(word: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the candidate that ``word`` most likely means, or None if none is similar.

    A candidate that begins with ``word`` is preferred to one with similar letters.
    """
    words = list(candidates)
    begun = [one for one in words if len(word) >= _BEGUN and one.startswith(word)]
    close = difflib.get_close_matches(word, words, n=1, cutoff=cutoff)
    return min(begun, key=len) if begun else close[0] if close else None


def strangers(words: Iterable[str], candidates: Iterable[str]) -> str:
    """Return unknown words joined by commas, each with a hint if a candidate is very similar.

    For example ``fliter (did you mean filter?), xyz``.
    """
    names = list(candidates)
    meant = {word: nearest(word, names, cutoff=0.88) for word in words}
    return ", ".join(
        f"{word} (did you mean {close}?)" if close else word for word, close in meant.items()
    )


def _of_a_word(word: str, names: Sequence[str]) -> str | None:
    """The shortest known name with a part that is similar to ``word``."""
    by_word: dict[str, list[str]] = {}
    for name in names:
        for one in re.split(r"[/_]", name):
            by_word.setdefault(one, []).append(name)
    # the cutoff is high, because long names have many parts
    close = nearest(word, by_word, cutoff=0.8)
    return min(by_word[close], key=len) if close else None


def _of_initials(word: str, names: Sequence[str]) -> str | None:
    """The known name whose parts begin with the letters of ``word``, such as ``vpa``."""
    initials = {"".join(one[:1] for one in name.split("_")): name for name in names}
    return initials.get(word.casefold())


def unknown_name(kind: str, name: str, candidates: Iterable[str], *, listing: str) -> TracekitError:
    """Return the error for an unknown name.

    Its hint has a similar known name and the command that lists all names.
    """
    names = list(candidates)
    close = nearest(name, names) or _of_a_word(name, names) or _of_initials(name, names)
    some = ", ".join(difflib.get_close_matches(name, names, n=3, cutoff=0))
    hint = f"did you mean '{close}'? " if close else f"for example {some}; " if some else ""
    return TracekitError(f"no {kind} named '{name}'", hint=f"{hint}list them: {listing}")


_ENGINES = ("polars", "duckdb", "_duckdb", "pyarrow")
#: The end of the text of each system error of Rust's standard library.
_RUST = re.compile(r"\(os error (\d+)\)")
#: The text of polars for a footer that could not be written; it does not have the system error.
_UNWRITTEN = "Invalid thrift: transport error"
_SPELLED = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EMFILE,
    errno.ENAMETOOLONG,
)


def is_of_an_engine(error: BaseException) -> bool:
    """Return whether an error was raised by polars, DuckDB or pyarrow."""
    return any(kind.__module__.partition(".")[0] in _ENGINES for kind in type(error).__mro__)


def system_error(error: BaseException) -> OSError | None:
    """Return the operating system's error in an error of polars, DuckDB or pyarrow.

    An OSError with a number is returned itself. Return None for any other error.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    if not (isinstance(error, OSError) or is_of_an_engine(error)):
        return None
    text = str(error)  # polars raises an OSError that has only a text
    match = _RUST.search(text)
    if match:
        return _refused(int(match[1]), text)
    for number in _SPELLED:
        if os.strerror(number) in text:
            return _refused(number, text)
    return _refused(errno.EIO, text) if _UNWRITTEN in text else None


def _refused(number: int, text: str) -> OSError:
    quoted = re.search(r"['\"]([^'\"]*/[^'\"]*)['\"]", text)
    return OSError(number, os.strerror(number), *([quoted[1]] if quoted else []))
