"""The command line and the library offer the same, and the front door shows all of it."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import types
from pathlib import Path

import pytest

import tracekit
from tracekit import commands

VERBS = commands.function_names()
#: Where the names differ: ``list`` is Python's own word, and ``export_chains`` is
#: ``callgraph --export``.
SUBCOMMANDS = {"listing": "list", "export_chains": "callgraph"}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_a_documented_function_of_its_name(name: str) -> None:
    verb = getattr(tracekit, name)
    assert isinstance(verb, types.FunctionType)
    assert verb.__name__ == name
    assert inspect.getdoc(verb)
    assert name in dir(tracekit)


def test_every_subcommand_has_a_verb_and_every_verb_a_subcommand() -> None:
    subcommands = {file.rstrip("_") for file in commands.command_names()}
    # a connection is for Python alone; the subcommand `duckdb` opens the same file
    alone = {"connect"}
    assert {SUBCOMMANDS.get(name, name) for name in VERBS} - alone == subcommands - {"duckdb"}


def test_type_checkers_are_shown_every_verb() -> None:
    """What stands behind TYPE_CHECKING cannot be found by a registry."""
    tree = ast.parse(Path(inspect.getfile(tracekit)).read_text(encoding="utf-8"))
    shown = [
        (node.module, alias.name, alias.asname)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tracekit.commands.")
        for alias in node.names
    ]
    assert shown == [(f"tracekit.commands.{name}", name, name) for name in VERBS]


@pytest.mark.slow
def test_a_package_of_the_same_name_does_not_hide_a_verb() -> None:
    packages = [f"tracekit.{name}" for name in ("report", "synth")]
    kinds = ", ".join(f"type({package}).__name__" for package in packages)
    code = f"import {', '.join(packages)}; print({kinds})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["function"] * len(packages)


def test_former_names_are_the_verbs_of_today_and_are_listed_nowhere() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "tracekit", "help"], capture_output=True, text=True, check=True
    ).stdout
    listed = {line.split()[0] for line in help_text.splitlines() if line.strip()}
    for former, name in commands.FORMERLY.items():
        assert getattr(tracekit, former).__name__ == name
        assert name in listed
        assert former not in listed | set(dir(tracekit))


def test_what_is_no_verb_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'tracekit'"):
        _ = tracekit.ingst  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("verb", "argument", "expected"),
    [
        ("replay", "repeat", "'repeat'"),
        ("replay", "policy", "'policies'"),
        ("nodes", "limit", "'limits'"),
        ("info", "zzz", "'zzz'"),
    ],
)
def test_an_argument_that_is_not_there_is_told_with_the_near_one(
    verb: str, argument: str, expected: str
) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(tracekit, verb)("store", **{argument: 2})
    assert expected in str(raised.value)
