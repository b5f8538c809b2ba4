"""The command line, made of the files of ``tracekit.commands``; ``main`` catches every error."""

import functools
import gc
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

from tracekit import commands
from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.commands.shell.command import Command, Group
from tracekit.commands.shell.edge import EndedBySignalError, Leaving, answered, ended_by_signals
from tracekit.commands.shell.progress import QUIET
from tracekit.commands.shell.signature import settings_of, subcommand
from tracekit.commands.shell.streams import ReaderGoneError, open_standard_files, visible


def build_app(only: str | None = None) -> typer.Typer:
    """Return the typer application with every subcommand of this folder, or with one of them."""
    app = typer.Typer(
        name="tracekit",
        cls=Group,
        help=inspect.getdoc(_global_options),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_global_options)
    for name in commands.command_names():
        if only not in {None, module_name(name)}:
            continue
        module = importlib.import_module(f"{commands.__name__}.{name}")
        command = _interruptible(subcommand(module.command, name.rstrip("_")))
        app.command(
            name=module_name(name),
            cls=Command,
            short_help=_in_short(command),
            rich_help_panel=module.PANEL,
        )(command)
    return app


#: New objects after which garbage is looked for; Python's own 700 is for small programs.
_COLLECTED_EVERY = 50_000
#: What stands beside a name in the list of commands, on a terminal of 80 columns.
_SHORT = 56


def _in_short(command: Callable[..., None]) -> str:
    """The first sentence of a subcommand's help, or the part of it that fits the list."""
    sentence = " ".join(inspect.cleandoc(command.__doc__ or "").split("\n\n")[0].split())
    if len(sentence) <= _SHORT:
        return sentence
    head = re.split(r"[:;] ", sentence)[0]
    while len(head) > _SHORT and ", " in head:
        head = head.rpartition(", ")[0]
    return f"{head}."


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C leave with exit code 130 and one line, however deep it struck.

    A signal that ends the process and a reader who is gone leave quietly; typer would take them
    for something else.
    """

    @functools.wraps(command)
    def wrapped(*args: object, **options: object) -> None:
        try:
            command(*args, **options)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except EndedBySignalError as end:
            raise SystemExit(end.exit_code) from None
        except KeyboardInterrupt:
            raise InterruptedByUserError from None
        except RuntimeError as error:
            # DuckDB has a word of its own for a signal that came while it worked
            if "query interrupted" not in str(error).lower():
                raise
            raise InterruptedByUserError from None

    return wrapped


class InterruptedByUserError(TracekitError):
    """Ctrl-C: what was finished is kept, the rest was cleaned away."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted", hint="run the same command again to go on")


def module_name(file_name: str) -> str:
    """Return the subcommand's name for a file name.

    ``list_`` gives ``list``, ``extender_bench`` gives ``extender-bench``, and ``fetch_prometheus``
    gives ``fetch prometheus``, because ``fetch`` is a command.
    """
    name = file_name.rstrip("_")
    first, _, rest = name.partition("_")
    if rest and first in commands.command_names():
        return f"{first} {rest.replace('_', '-')}"
    return name.replace("_", "-")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tracekit {VERSION}")
        raise typer.Exit


def _global_options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing on the way (stderr).")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings, instead of the nearest tracekit.toml.", metavar="FILE"),
    ] = None,
) -> None:
    """Cluster-trace analytics and scheduling research: ingest, analyse, replay, report.

    Start without any data: tracekit run synth:small --out demo

    What a project's calls share stands in tracekit.toml, in this folder or one above it: policies,
    assumptions, thresholds, any option of a command. A flag goes before the file, the file before
    the default.
    """
    _ = version
    if debug:
        os.environ["TRACEKIT_DEBUG"] = "1"
    if quiet:
        os.environ[QUIET] = "1"
    if context.invoked_subcommand is None:
        _print_what_is_next()
    elif not context.resilient_parsing:
        _take_settings(context, str(context.invoked_subcommand), config)


def _take_settings(context: typer.Context, name: str, given: Path | None) -> None:
    """Make the project's settings the defaults of the subcommand."""
    from tracekit.commands.shell import settings as of_project

    path = given or of_project.find(Path.cwd())
    if path is None:
        return
    files = {module_name(file): file.rstrip("_") for file in commands.command_names()}
    shared = {command: settings_of(file) for command, file in files.items()}
    names = sorted({setting for of in shared.values() for setting in of.values()})
    settings = of_project.read(path, names, sorted(files), commands.FORMERLY)
    made = {}
    for command in {name, *settings.commands}:
        group: Any = typer.main.get_command(build_app(command))
        typed = group.commands[command]
        made[command] = of_project.defaults(settings, command, typed, shared[command])
    context.default_map = made
    if made[name] and not os.environ.get(QUIET):
        print(visible(f"settings: {path}"), file=sys.stderr)


def _print_what_is_next() -> None:
    from tracekit.commands.shell.following import advice, look_around
    from tracekit.report.sentences import command, short

    print("tracekit: ingest, analyse, replay and report cluster traces.\n")
    for fact, followup in advice(look_around(Path.cwd())):
        print(f"{short(fact)}{':' if followup else ''}")
        if followup:
            print(f"    {command(followup)}")
    print("\nAll commands: tracekit --help. What there is: tracekit list.")


def main() -> None:
    """Run the command line; turn every expected problem into one line and an exit code."""
    leaving = Leaving()
    open_standard_files()
    # loading libraries makes no garbage, yet Python looks for it: a quarter of the time it takes
    gc.set_threshold(_COLLECTED_EVERY)
    with ended_by_signals() as ending:
        code = run(sys.argv[1:])
        leaving.with_code(code if ending.exit_code is None else ending.exit_code)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    names = {module_name(name) for name in commands.command_names()}
    flags, words = _flags_first(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    pair, first = " ".join(words[:2]), " ".join(words[:1])
    name = pair if pair in names else commands.FORMERLY.get(first, first)
    only = name if name in names else None
    return answered(lambda: build_app(only)([*flags, *words], prog_name="tracekit"))


#: Flags of the program, which may stand before or after the subcommand.
_FLAGS = ("-q", "--quiet", "--debug")


def _flags_first(words: list[str]) -> tuple[list[str], list[str]]:
    """The flags of the program that stand before a ``--``, and all other words."""
    end = words.index("--") if "--" in words else len(words)
    flags = [word for word in words[:end] if word in _FLAGS]
    return flags, [word for at, word in enumerate(words) if at >= end or word not in _FLAGS]
