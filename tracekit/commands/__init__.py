"""The commands of tracekit, one file each: the library's function, and how a terminal shows it.

``import tracekit`` offers the function that has the file's name. It opens folders, makes workers
and writes results; the packages below compute. ``command`` in the same file is what ``tracekit
NAME`` runs: its docstring is the help, and it prints what the function returns. What is asked for
stands in the function's signature alone. ``shell`` turns signatures into a command line.
"""

from tracekit.base import registry

#: Former names, which still work everywhere but are listed nowhere, with the names of today.
FORMERLY = {
    "plan": "estimate",
    "score": "explain",
    "shrink": "nodes",
    "size": "requests",
    "vary": "sensitivity",
}
#: Files without a function of the library, and files without a command.
_SHELL_ONLY, _LIBRARY_ONLY = {"duckdb", "list_"}, {"connect", "export_chains", "listing"}


def function_names() -> list[str]:
    """The functions that ``import tracekit`` offers."""
    return [one for one in _names() if one not in _SHELL_ONLY]


def command_names() -> list[str]:
    """The files that hold a command."""
    return [one for one in _names() if one not in _LIBRARY_ONLY]


def _names() -> list[str]:
    import sys

    return [one for one in registry.module_names(sys.modules[__name__]) if one != "shell"]
