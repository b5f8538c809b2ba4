"""Typer's classes with three changes.

The help calls values by words for people, the list of commands has headings, and a mistake in what
was typed is one ``error:`` line.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.exceptions import TyperException

from tracekit.base.errors import TracekitError, nearest
from tracekit.commands import FORMERLY
from tracekit.commands.shell.settings import merged

#: Words for values in the help, by parameter. An option's own ``metavar`` goes before them; a
#: parameter that is not listed is called by its name.
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
    """Return the word for a parameter's value; None where its choices are shown instead."""
    if param.metavar is not None or getattr(param.type, "choices", None):
        return param.metavar  # type: ignore[no-any-return]
    return _WORDS.get(param.name, str(param.name).upper())


class Panel(StrEnum):
    """Headings of the list of commands, in their order; ``PANEL`` of a command's file is one."""

    whole = "Everything at once"
    data = "Get data in"
    look = "See what a trace holds"
    replay = "How many nodes, which requests, which scheduler"
    tell = "Tell others, and find your way"
    rare = "Research and rare"


_PAIRS = ("NAME=VALUE", "TYPE=PRICE")
#: The first line of SQL that begins with a comment.
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
        """As typer's; a mistake is one error line."""
        if any("SQL" in (one.metavar or "") for one in self.params):
            # SQL that begins with a comment looks like an option; a blank line before it does not
            args = [f"\n{word}" if _COMMENT.match(word) else word for word in args]
        with _mistakes(self, ctx):
            left = super().parse_args(ctx, args)
        settings = ctx.default_map or {}
        for one in self.params:
            # typed pairs are added to the pairs of the settings file
            if one.metavar in _PAIRS and one.name in settings and ctx.params.get(one.name):
                ctx.params[one.name] = merged(ctx.params[one.name], settings[one.name])
        return left


class Group(TyperGroup):
    """The program, with its subcommands under headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's; a mistake is one error line."""
        with _mistakes(self, ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer's, with names of two words; an unknown command is one error line."""
        pair = " ".join(args[:2])
        args = [pair, *args[2:]] if pair in self.commands else args
        args = [FORMERLY.get(args[0], args[0]), *args[1:]]
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            close = nearest(args[0], [*self.commands, *FORMERLY])
            raise TracekitError(
                f"no command '{args[0]}'",
                hint=f"{_suggested(FORMERLY.get(close or '', close))}all commands: tracekit --help",
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as typer's
        """The subcommands under their headings."""
        widest = max(map(len, self.commands))
        for panel in Panel:
            shown = [
                (name, one)
                for name, one in self.commands.items()
                if getattr(one, "rich_help_panel", None) == panel
            ]
            if shown:
                with formatter.section(panel.value):
                    formatter.write_dl(
                        [(f"{name:<{widest}}", one.get_short_help_str(80)) for name, one in shown]
                    )


@contextmanager
def _mistakes(command: Any, ctx: Any) -> Iterator[None]:
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
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        close = nearest(option, _options(command))
        return TracekitError(f"{path} has no option '{option}'", hint=f"{_suggested(close)}{more}")
    param = getattr(error, "param", None)
    if param is not None:
        return _wrong_value(error, param, command, path)
    message = error.format_message().rstrip(".")
    return TracekitError(
        f"{path}: {message[:1].lower()}{message[1:]}", hint=_example(command) or more
    )


def _options(command: Any) -> list[str]:
    """The flags of a command."""
    options = [one for one in command.params if isinstance(one, TyperOption)]
    return [name for one in options for name in one.opts] + ["--help", "-h"]


def _wrong_value(error: TyperException, param: Any, command: Any, path: str) -> TracekitError:
    option = isinstance(param, TyperOption)
    name = param.opts[0] if option else param.human_readable_name
    if hasattr(error, "param_type"):
        value = f"{name} {param.metavar}" if option and param.metavar else name
        about = param.help.rstrip(".") if param.help else ""
        return TracekitError(
            f"{path} needs {value}{f': {about[:1].lower()}{about[1:]}' if about else ''}",
            hint=_example(command) or f"see {path} --help",
        )
    not_number = re.match(r"'(.*)' is not a valid (?:int|float)", error.message, re.DOTALL)
    if not_number:
        wanted = "a whole number" if "int" in param.type.name else "a number"
        return TracekitError(f"{name} must be {wanted}, got '{not_number[1]}'")
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
            f"{name} must be one of {', '.join(values)}{got}",
            hint=_suggested(close).strip() or None,
        )
    return TracekitError(f"{name}: {error.message.rstrip('.')}")


def _say_range(param: Any) -> None:
    """Have the help and errors say the range of a number in words."""
    if hasattr(param.type, "_describe_range"):
        words = _range(param.type._describe_range())  # noqa: SLF001 - there is no public one
        param.type._describe_range = lambda: words  # noqa: SLF001


def _suggested(close: str | None) -> str:
    return f"did you mean '{close}'? " if close else ""


def _range(text: str) -> str:
    """A range such as ``x>=1`` or ``0<=x<=1`` in words."""
    both = re.fullmatch(r"(\S+)<=?x<=?(\S+)", text)
    if both:
        return f"between {both[1]} and {both[2]}"
    return text.replace("x>=", "at least ").replace("x<=", "at most ")


def _example(command: Any) -> str | None:
    """The example at the end of a subcommand's help."""
    match = re.search(r"Example: (.*)", " ".join((command.help or "").split()))
    return f"for example: {match[1]}" if match else None
