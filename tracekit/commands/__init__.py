"""The commands of tracekit, one file each: the library's function, and how a terminal shows it.

``import tracekit`` offers the function with the file's name. It opens folders, makes workers and
writes results; the packages below compute. ``tracekit NAME`` runs ``command`` of the same file,
which prints what the function returns. The docstring of ``command`` is the help. Arguments and
options are the parameters of the function. ``shell`` turns signatures into a command line.
"""

from tracekit.base import registry

#: Former names of commands, which still work but are not listed, with the present names.
FORMERLY = {
    "plan": "estimate",
    "score": "explain",
    "shrink": "nodes",
    "size": "requests",
    "vary": "sensitivity",
}
#: Files without a library function, and files without a command.
_SHELL_ONLY, _LIBRARY_ONLY = {"duckdb", "list_"}, {"connect", "export_chains", "listing"}


def function_names() -> list[str]:
    """Return the functions that ``import tracekit`` offers."""
    return [one for one in _names() if one not in _SHELL_ONLY]


def command_names() -> list[str]:
    """Return the names of the modules in this folder that define a subcommand."""
    return [one for one in _names() if one not in _LIBRARY_ONLY]


def _names() -> list[str]:
    import sys

    return [one for one in registry.module_names(sys.modules[__name__]) if one != "shell"]
