"""Modules come from where Python and tracekit are installed, never from the folder one stands in.

``python -m``, ``python -c`` and an empty entry of ``PYTHONPATH`` (``export PYTHONPATH=/x:``) put
the current folder first among the places to import from. People stand in folders of traces that
they were given: a ``numpy.py`` there must not run. Folders that ``PYTHONPATH`` names are the user's
own word and stay.
"""

import os
import sys

#: The folder, or the archive, that tracekit itself was imported from.
_HOME = os.path.abspath(os.path.join(__file__, "../../.."))  # noqa: PTH100, PTH118 - pathlib is not loaded yet


def leave_current_folder() -> None:
    """Import nothing more from the current folder in this process."""
    sys.path[:] = safe_path()


def safe_path() -> list[str]:
    """Where this process imports from, without the current folder; tracekit's own place is there.

    A checkout that one stands in is tracekit's own place; then it is searched last.
    """
    named = set() if sys.flags.ignore_environment else _named(os.environ.get("PYTHONPATH", ""))
    here = _current_folder()
    path = [one for one in sys.path if one and (_absolute(one) != here or here in named)]
    return path if _HOME in map(_absolute, path) else [*path, _HOME]


def interpreter(module: str) -> list[str]:
    """The command that runs ``main()`` of a module in a fresh Python that imports as this one does.

    What follows the command are the arguments of ``main``. The environment has no say in it.
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
