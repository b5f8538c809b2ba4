"""Recognises a refusal of the system in the errors of polars, DuckDB and pyarrow."""

import errno
import os
import re

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
