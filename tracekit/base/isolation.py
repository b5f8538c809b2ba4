"""Keeps the current folder out of the places from which Python imports.

``python -m``, ``python -c`` and an empty entry of ``PYTHONPATH`` (``export PYTHONPATH=/x:``) put
the current folder first among these places. The current folder may hold a trace of others, and a
``numpy.py`` in it must not run. Folders that ``PYTHONPATH`` names stay: the user chose them.
"""

import os
import sys

#: The folder, or the archive, that tracekit itself was imported from.
_HOME = os.path.abspath(os.path.join(__file__, "../../.."))  # noqa: PTH100, PTH118 - pathlib is not loaded yet


def leave_current_folder() -> None:
    """Remove the current folder from the import path of this process."""
    sys.path[:] = safe_path()


def safe_path() -> list[str]:
    """Return ``sys.path`` without the current folder, unless PYTHONPATH names it.

    The folder that tracekit was imported from is added at the end if it is missing.
    """
    named = set() if sys.flags.ignore_environment else _named(os.environ.get("PYTHONPATH", ""))
    here = _current_folder()
    path = [one for one in sys.path if one and (_absolute(one) != here or here in named)]
    return path if _HOME in map(_absolute, path) else [*path, _HOME]


def interpreter(module: str) -> list[str]:
    """Return a command line that runs ``main()`` of a module in a new Python process.

    Arguments of ``main`` can be appended. The new process imports from ``safe_path()``, whatever
    the environment says.
    """
    flags = ["-E", *(["-B"] if sys.dont_write_bytecode else [])]
    start = f"import sys; sys.path[:] = {safe_path()!r}; from {module} import main; main()"
    return [sys.executable, *flags, "-c", start]


def _named(path: str) -> set[str]:
    return {_absolute(one) for one in path.split(os.pathsep) if one}


def _absolute(path: str) -> str:
    return os.path.realpath(path)


def _current_folder() -> str | None:
    try:
        return os.path.realpath(os.getcwd())  # noqa: PTH109 - as above
    except FileNotFoundError:
        return None
