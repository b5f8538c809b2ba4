"""How long functions, modules and equal runs of lines may be; what is longer has a reason here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit

_PACKAGE = Path(tracekit.__file__).parent
_FUNCTION_LINES = 45
_MODULE_LINES = 400
#: Lines that a function's body may have beyond the usual.
_LONG_FUNCTIONS = {
    "intake/read/scan.py:scan": (105, "one compiled automaton: its parts would be calls per byte"),
}
#: Lines that a module may have beyond the usual.
_LONG_MODULES: dict[str, tuple[int, str]] = {}
#: Modules that a folder may have loose in it; a registry has as many as it has things.
_FOLDER_MODULES = 22
_REGISTRIES = {
    "commands": "subcommands",
}
#: So many equal lines in a row stand in one place only. Lines are compared without what is around
#: them, empty ones too.
_EQUAL_LINES = 12
_IMPORTS = re.compile(r"^from [\w.]+ import (\([^)]*\)|.*)\n", re.MULTILINE)


def test_folders_hold_what_belongs_together() -> None:
    results: dict[str, int] = {}
    for path in _PACKAGE.rglob("*.py"):
        folder = path.parent.relative_to(_PACKAGE).as_posix()
        results[folder] = results.get(folder, 0) + 1
    beyond = {
        name: modules
        for name, modules in results.items()
        if name not in _REGISTRIES and modules > _FOLDER_MODULES
    }
    assert not beyond, f"folders of more than {_FOLDER_MODULES} modules: {beyond}"
    few = [name for name in _REGISTRIES if results.get(name, 0) <= _FOLDER_MODULES]
    assert not few, "no exception without a folder that needs it"


@pytest.mark.slow
def test_functions_are_short() -> None:
    result = dict(_long_functions())
    allowed = {name: lines for name, (lines, _) in _LONG_FUNCTIONS.items()}
    beyond = {
        name: lines for name, lines in result.items() if lines > allowed.get(name, _FUNCTION_LINES)
    }
    assert not beyond, f"bodies of more than {_FUNCTION_LINES} lines: {beyond}"
    assert not allowed.keys() - result.keys(), "no exception without a function that needs it"


def test_modules_are_short() -> None:
    results = {
        str(path.relative_to(_PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in _PACKAGE.rglob("*.py")
    }
    allowed = {name: lines for name, (lines, _) in _LONG_MODULES.items()}
    beyond = {
        name: lines for name, lines in results.items() if lines > allowed.get(name, _MODULE_LINES)
    }
    assert not beyond, f"modules of more than {_MODULE_LINES} lines: {beyond}"
    unneeded = [name for name in allowed if results.get(name, 0) <= _MODULE_LINES]
    assert not unneeded, "no exception without a module that needs it"


def _long_functions() -> Iterator[tuple[str, int]]:
    """Functions whose body, without signature and docstring, is longer than is usual."""
    for path in _PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[ast.get_docstring(node) is not None :]
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > _FUNCTION_LINES:
                    yield f"{path.relative_to(_PACKAGE)}:{node.name}", lines


def test_no_run_of_equal_lines_stands_twice() -> None:
    twice = list(_equal_runs({path: path.read_text() for path in _PACKAGE.rglob("*.py")}))
    assert not twice, f"{_EQUAL_LINES} equal lines or more: {twice}"


def test_equal_runs_are_found() -> None:
    lines = [f"line {at}" for at in range(_EQUAL_LINES)]
    texts = {Path("a.py"): "\n".join(["one", *lines]), Path("b.py"): "\n    ".join(lines)}
    assert list(_equal_runs(texts)) == [("a.py:2", "b.py:1")]
    texts[Path("b.py")] = "\n".join(lines[1:])
    assert not list(_equal_runs(texts))


def _equal_runs(texts: dict[Path, str]) -> Iterator[tuple[str, str]]:
    """Where runs begin that stand twice; of a longer run its beginning alone."""
    first: dict[tuple[str, ...], tuple[Path, int]] = {}
    for path, text in sorted(texts.items()):
        before: tuple[Path, int] | None = None
        lines = [line.strip() for line in _IMPORTS.sub("", text).splitlines()]
        for at in range(len(lines) - _EQUAL_LINES + 1):
            result = first.setdefault(tuple(lines[at : at + _EQUAL_LINES]), (path, at))
            if result not in {(path, at), before}:
                yield f"{result[0].name}:{result[1] + 1}", f"{path.name}:{at + 1}"
            before = (result[0], result[1] + 1) if result != (path, at) else None
