"""A subcommand asks for what its verb's signature says, and hands it over as it was typed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import typer.main

from tracekit import commands
from tracekit.commands.shell import build_app, module_name, run, signature

#: An option of another command asks for them.
BY_OPTION = {"export_chains"}
VERBS = [
    name
    for name in commands.function_names()
    if signature._declared(name) and name not in BY_OPTION
]
#: Deliberately another default on the command line: a library must not start processes unasked.
OTHER = {("synth", "jobs")}


@pytest.mark.parametrize("name", VERBS)
def test_the_defaults_are_those_of_the_verb(name: str) -> None:
    group: Any = typer.main.get_command(build_app())
    options = {one.name: one for one in group.commands[module_name(name)].params}
    for key, (parameter, _, option) in signature._declared(name).items():
        recorded, default = options[key], parameter.default
        if (name, key) in OTHER:
            continue
        if default is parameter.empty:
            assert recorded.required or recorded.default is None, key
        elif option.off:
            assert recorded.default == (not default), key
        elif recorded.default is None:
            assert option.default is None, key
        else:
            typed = recorded.default
            assert (option.read(typed) if option.takes else typed) == default, key  # type: ignore[misc]


@pytest.mark.parametrize("name", VERBS)
def test_whatever_a_verb_offers_with_a_help_is_asked_for(name: str) -> None:
    declared = signature._declared(name)
    left = set(inspect.signature(signature._function(name)).parameters) - set(declared)
    assert left <= {"progress", "further", "started"}
    for key, (_, _, option) in declared.items():
        assert option.doc.endswith((".", "...")) or ":" in option.doc, key


#: A command line, and what its verb is called with.
CALLS: list[tuple[list[str], tuple[object, ...], dict[str, object]]] = [
    (["info", "s"], (Path("s"),), {}),
    (["check", "s", "--verify"], (Path("s"),), {"verify": True}),
    (["callgraph", "s", "--mode", "naive"], (Path("s"),), {"mode": "naive"}),
    (["query", "s", "q", "-p", "a=1", "-p", "b=2"], (Path("s"), "q"),
     {"params": {"a": "1", "b": "2"}}),
    (["ingest", "t", "s", "--memory-limit", "2kB"], (Path("t"), Path("s")),
     {"release": "auto", "memory_limit_bytes": 2000, "replace": False}),
    (["ingest", "t", "s"], (Path("t"), Path("s")),
     {"release": "auto", "memory_limit_bytes": 2**30, "replace": False}),
    (["fetch", "ctm21", "d", "--tables", "node, rate"], ("ctm21", Path("d")),
     {"tables": ["node", "rate"], "jobs": 4, "timeout_s": 60.0}),
    (["synth", "d", "--parts", "0-2"], (Path("d"),),
     {"preset": "small", "seed": 0, "jobs": 0, "parts": (0, 1, 2)}),
    (["replay", "--workload", "openb:x", "--policy", "a", "--policy", "b", "--out", "r", "--gang"],
     (None,), {"workload": "openb:x", "policies": ["a", "b"], "out": Path("r"), "seed": 0,
               "gangs": True, "jobs": 1, "start": "empty"}),
]  # fmt: skip


class _HeardError(Exception):
    """What the verb was called with."""


@pytest.mark.parametrize(("typed", "firsts", "named"), CALLS)
def test_what_is_typed_is_what_the_verb_gets(
    typed: list[str],
    firsts: tuple[object, ...],
    named: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[tuple[tuple[object, ...], dict[str, Any]]] = []

    def hear(*args: object, **options: Any) -> None:
        heard.append((args, options))
        raise _HeardError

    monkeypatch.setattr(f"tracekit.{typed[0]}", hear)
    run(typed)
    ((args, options),) = heard
    options.pop("progress", None)
    if "parts" in options:
        options["parts"] = tuple(at for at in range(10) if at in options["parts"])
    assert args == firsts
    assert options == named
