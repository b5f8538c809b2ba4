"""How a subcommand is asked for: help under headings, and every mistake one ``error:`` line.

Typer's own classes with three changes: what a value is called in the help is a word for people,
the list of commands has headings, and what typer refuses is told as every other mistake is.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException
from typer.main import get_command

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.words import few
from tracekit.commands import FORMERLY
from tracekit.commands.shell.settings import merged

# What stands for a value in the help: a word that says what it is, not the type it has. A verb's
# own word goes first (``metavar``), then the word here, else the parameter's name.

_WORDS = {
    "base_url": "URL",
    "binding": "FILE",
    "end": "TIME",
    "export": "FOLDER",
    "fit": "FOLDER",
    "functions": "FUNCTION",
    "jobs": "PROCESSES",
    "kubectl": "PROGRAM",
    "max_rejects_fraction": "FRACTION",
    "memory_limit_bytes": "SIZE",
    "out": "FOLDER",
    "params": "NAME=VALUE",
    "policies": "POLICY",
    "population": "CANDIDATES",
    "rate": "SPAN",
    "release": "TRACE",
    "repeats": "ORDERS",
    "repeats_up_to": "ORDERS",
    "ridge": "ROWS",
    "scale": "FACTOR",
    "searches": "SEARCH",
    "start": "TIME",
    "step": "SPAN",
    "studies": "STUDY",
    "tables": "TABLE,...",
    "target_alloc_fraction": "FRACTION",
    "threads_per_core": "VCPUS",
    "timeout_s": "SECONDS",
    "topology": "FILE",
    "truth": "FILE",
}


def metavar(param: Any) -> str | None:
    """The word for a parameter's value; None where its choices are shown instead."""
    if param.metavar is not None or getattr(param.type, "choices", None):
        return param.metavar  # type: ignore[no-any-return]
    return _WORDS.get(param.name, str(param.name).upper())


class Panel(StrEnum):
    """A heading; they are shown in this order. A subcommand's file names its own as ``PANEL``."""

    whole = "Everything at once"
    data = "Get data in"
    look = "See what a trace holds"
    replay = "How many nodes, which requests, which scheduler"
    tell = "Tell others, and find your way"
    rare = "Research and rare"


_PAIRS = ("NAME=VALUE", "TYPE=PRICE")
#: How SQL begins whose first line is a comment.
_COMMENT = re.compile(r"--(\s|[^\n]*\n)")


class Command(TyperCommand):
    """A subcommand."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for one in self.params:
            one.metavar = metavar(one)
            _say_range(one)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As typer's, but required arguments stand without braces, as in any manual."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"^\{(.*)\}$", r"\1", piece) for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; a refusal is one line."""
        if any("SQL" in (one.metavar or "") for one in self.params):
            # a blank line is nothing to SQL, and no option begins with one
            args = [f"\n{word}" if _COMMENT.match(word) else word for word in args]
        with _told(self, ctx):
            rest = super().parse_args(ctx, args)
        stated = ctx.default_map or {}
        for one in self.params:
            # of pairs, those of the settings hold beside those that are typed
            if one.metavar in _PAIRS and one.name in stated and ctx.params.get(one.name):
                ctx.params[one.name] = merged(ctx.params[one.name], stated[one.name])
        return rest


class Group(TyperGroup):
    """The program, with its subcommands under headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; a refusal is one line."""
        with _told(self, ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer's, with names of two words; a command that is not there is one line."""
        pair = " ".join(args[:2])
        args = [pair, *args[2:]] if pair in self.commands else args
        args = [FORMERLY.get(args[0], args[0]), *args[1:]]
        if not ctx.resilient_parsing:
            self._refuse_near_pair(args)
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            close = nearest(args[0], [*self.commands, *FORMERLY])
            raise TracekitError(
                f"no command '{args[0]}'",
                hint=f"{_near(FORMERLY.get(close or '', close))}all commands: tracekit --help",
            )
        return super().resolve_command(ctx, args)

    def _refuse_near_pair(self, args: list[str]) -> None:
        """Say so where two words are nearly the name of a command, and the first is one alone."""
        pairs = [name for name in self.commands if name.startswith(f"{args[0]} ")]
        if not pairs or len(args) < 2 or args[0] not in self.commands:
            return
        known = {name.partition(" ")[2]: name for name in pairs}
        close = nearest(args[1], known)
        if close is None or close == args[1]:
            return
        from tracekit.intake.sources import all_sources

        if args[1] not in all_sources():
            raise TracekitError(
                f"no command '{args[0]} {args[1]}'",
                hint=f"{_near(known[close])}all commands: tracekit --help",
            )

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as typer's
        """The subcommands, each under what one wants to do with it."""
        widest = max(map(len, self.commands))
        for panel in Panel:
            found = [
                (name, one)
                for name, one in self.commands.items()
                if getattr(one, "rich_help_panel", None) == panel
            ]
            if found:
                with formatter.section(panel.value):
                    formatter.write_dl(
                        [(f"{name:<{widest}}", one.get_short_help_str(80)) for name, one in found]
                    )


@contextmanager
def _told(command: Any, ctx: Any) -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        if ctx.resilient_parsing:
            raise
        raise _mistake(error, command, ctx) from None


def _mistake(error: TyperException, command: Any, ctx: Any) -> TracekitError:
    """A mistake in what was typed, as a line and a hint."""
    path = ctx.command_path
    more = f"all options: {path} --help"
    wrong = getattr(error, "option_name", None)
    if wrong is not None and hasattr(error, "possibilities"):
        close = nearest(wrong, _options(command))
        said = _without_option(wrong, command) or _of_others(wrong, ctx) or _near(close)
        if close and (wrong.startswith(close) or close.startswith(wrong)):
            said = _near(close)
        return TracekitError(f"{path} has no option '{wrong}'", hint=f"{said}{more}")
    param = getattr(error, "param", None)
    if param is not None:
        return _wrong_value(error, param, command, path)
    said = error.format_message().rstrip(".")
    return TracekitError(f"{path}: {said[:1].lower()}{said[1:]}", hint=_example(command) or more)


def _options(command: Any) -> list[str]:
    """What a command's options are called."""
    options = [one for one in command.params if isinstance(one, TyperOption)]
    return [name for one in options for name in one.opts] + ["--help", "-h"]


def _of_others(wrong: str, ctx: Any) -> str:
    """The subcommands that have the option; '' for none, and where only one is known."""
    root = ctx.find_root()
    if root.obj is None or root is ctx:
        return ""
    # the program has loaded the one that was asked for
    program: Any = get_command(root.obj())
    having = [name for name, one in program.commands.items() if wrong in _options(one)]
    names = [f"'tracekit {name}'" for name in having]
    return f"{few(names)} {'has' if len(names) == 1 else 'have'} it; " if names else ""


#: What other programs have options for, where a command here may have arguments.
_OFTEN_OPTIONS = {"from", "to", "in", "input", "out", "output", "src", "source", "store", "folder"}


def _without_option(wrong: str, command: Any) -> str:
    """The argument to write instead of an option that means one; '' for any other option."""
    plain = wrong.lstrip("-").replace("-", "_").casefold()
    found = [one for one in command.params if not isinstance(one, TyperOption)]
    named = [one for one in found if plain in {one.name.casefold(), _shown(one).casefold()}]
    if plain not in _OFTEN_OPTIONS and not named:
        return ""
    words = " ".join(_shown(one) for one in named or found)
    return f"{words} {'is' if ' ' not in words else 'are'} written without one; " if words else ""


def _shown(argument: Any) -> str:
    return str(argument.human_readable_name)


def _wrong_value(error: TyperException, param: Any, command: Any, path: str) -> TracekitError:
    option = isinstance(param, TyperOption)
    name = param.opts[0] if option else param.human_readable_name
    if hasattr(error, "param_type"):
        said = f"{name} {param.metavar}" if option and param.metavar else name
        about = param.help.rstrip(".") if param.help else ""
        return TracekitError(
            f"{path} needs {said}{f': {about[:1].lower()}{about[1:]}' if about else ''}",
            hint=_example(command) or f"see {path} --help",
        )
    found = re.match(r"'(.*)' is not a valid (?:int|float)", error.message, re.DOTALL)
    if found:
        wanted = "a whole number" if "int" in param.type.name else "a number"
        return TracekitError(f"{name} must be {wanted}, got '{found[1]}'")
    beyond = re.match(r"(\S+) is not in the range (.*?)\.?$", error.message)
    if beyond:
        return TracekitError(f"{name} must be {beyond[2]}, got {beyond[1]}")
    choices = getattr(param.type, "choices", None)
    if choices:
        values = [str(getattr(one, "value", one)) for one in choices]
        typed = re.match(r"'(.*?)' is not one of", error.message)
        close = nearest(typed[1], values) if typed else None
        got = f", got '{typed[1]}'" if typed else ""
        return TracekitError(
            f"{name} must be one of {', '.join(values)}{got}", hint=_near(close).strip() or None
        )
    return TracekitError(f"{name}: {error.message.rstrip('.')}")


def _say_range(param: Any) -> None:
    """Have the range of a number told in words, in the help and in what refuses another."""
    if hasattr(param.type, "_describe_range"):
        said = _range(param.type._describe_range())  # noqa: SLF001 - there is no public one
        param.type._describe_range = lambda: said  # noqa: SLF001


def _near(close: str | None) -> str:
    return f"did you mean '{close}'? " if close else ""


def _range(text: str) -> str:
    """A range such as ``x>=1`` or ``0<=x<=1`` in words."""
    both = re.fullmatch(r"(\S+)<=?x<=?(\S+)", text)
    if both:
        return f"between {both[1]} and {both[2]}"
    return text.replace("x>=", "at least ").replace("x<=", "at most ")


def _example(command: Any) -> str | None:
    """The example that a subcommand's help ends with."""
    found = re.search(r"Example: (.*)", " ".join((command.help or "").split()))
    return f"for example: {found[1]}" if found else None
