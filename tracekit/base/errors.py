"""Errors that the user can mend; printed once, by ``tracekit.commands.main``.

Refusals of the system are recognised in the errors of polars, DuckDB and pyarrow.
"""

import difflib
import errno
import os
import re
from collections.abc import Iterable, Sequence


class TracekitError(Exception):
    """The call or its input is wrong: one line that says what, and one that helps.

    Parameters
    ----------
    what : str
        What was wrong, the value found, and what would be right.
    hint : str, optional
        What to do about it.
    details : sequence of str
        Lines of their own below the first.
    """

    exit_code = 2

    def __init__(self, what: str, *, hint: str | None = None, details: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.details = tuple(details)

    def __reduce__(self) -> tuple[object, ...]:
        """A worker's error comes out where the task came from, whatever it was made of."""
        return _again, (type(self), self.args, self.__dict__)


def _again(
    kind: type[TracekitError], args: tuple[object, ...], state: dict[str, object]
) -> TracekitError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class CheckFailedError(TracekitError):
    """The work is done, but a check the user asked for failed."""

    exit_code = 1


#: So many letters begin a word.
_BEGUN = 3


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that ``word`` was most likely meant to be, if any comes close.

    The first letters of a word are more of it than letters that happen to be in another one.
    """
    words = list(known)
    begun = [one for one in words if len(word) >= _BEGUN and one.startswith(word)]
    close = difflib.get_close_matches(word, words, n=1, cutoff=cutoff)
    return min(begun, key=len) if begun else close[0] if close else None


def strangers(words: Iterable[str], known: Iterable[str]) -> str:
    """Words that are not known, in one text, each with the one that it misspells, if it does.

    A stranger may be real, and merely not of here: only what is a letter or two away is named.
    """
    names = list(known)
    meant = {word: nearest(word, names, cutoff=0.88) for word in words}
    return ", ".join(
        f"{word} (did you mean {close}?)" if close else word for word, close in meant.items()
    )


def _of_a_word(word: str, known: Sequence[str]) -> str | None:
    """The shortest known name that has a word of its own which ``word`` was meant to be."""
    by_word: dict[str, list[str]] = {}
    for name in known:
        for one in re.split(r"[/_]", name):
            by_word.setdefault(one, []).append(name)
    # a letter or two away: words of long names are many
    close = nearest(word, by_word, cutoff=0.8)
    return min(by_word[close], key=len) if close else None


def _of_initials(word: str, known: Sequence[str]) -> str | None:
    """The known name whose words begin with the letters of ``word``: ``vpa``."""
    initials = {"".join(one[:1] for one in name.split("_")): name for name in known}
    return initials.get(word.casefold())


def unknown_name(kind: str, name: str, known: Iterable[str], *, listing: str) -> TracekitError:
    """The error for a name that no file carries: suggests the likely one, or how to list all."""
    names = list(known)
    close = nearest(name, names) or _of_a_word(name, names) or _of_initials(name, names)
    some = ", ".join(difflib.get_close_matches(name, names, n=3, cutoff=0))
    hint = f"did you mean '{close}'? " if close else f"for example {some}; " if some else ""
    return TracekitError(f"no {kind} named '{name}'", hint=f"{hint}list them: {listing}")


_ENGINES = ("polars", "duckdb", "_duckdb", "pyarrow")
#: Rust's standard library ends the text of each error of the system in this.
_RUST = re.compile(r"\(os error (\d+)\)")
#: polars' word for a footer that could not be written; which error of the system it was is lost.
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
    """Whether an error was raised by what reads and writes tables for us."""
    return any(kind.__module__.partition(".")[0] in _ENGINES for kind in type(error).__mro__)


def system_error(error: BaseException) -> OSError | None:
    """The system's refusal that an engine's error tells of; None where it tells of another."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    if not (isinstance(error, OSError) or is_of_an_engine(error)):
        return None
    text = str(error)  # polars raises an OSError that has only a text
    found = _RUST.search(text)
    if found:
        return _refused(int(found[1]), text)
    for number in _SPELLED:
        if os.strerror(number) in text:
            return _refused(number, text)
    return _refused(errno.EIO, text) if _UNWRITTEN in text else None


def _refused(number: int, text: str) -> OSError:
    quoted = re.search(r"['\"]([^'\"]*/[^'\"]*)['\"]", text)
    return OSError(number, os.strerror(number), *([quoted[1]] if quoted else []))
