"""A subcommand from a verb: what it asks for stands in the verb's signature, and only there.

A file of this folder says how the answer is printed: its function ``command`` is given what was
asked, and calls it. Its parameters are those of the verb that it prints, by name, and options of
its own, which are about printing and exit codes.
"""

import dataclasses
import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tracekit import commands
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.shape import LARGEST
from tracekit.commands._options import Argument, Option
from tracekit.commands.shell.completion import completer
from tracekit.commands.shell.progress import progress

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class Asked:
    """A verb and what it is to be called with."""

    def __init__(self, verb: str, given: Mapping[str, Any]) -> None:
        self._verb = verb
        self._given = given

    def __call__(self, **more: Any) -> Any:
        """The verb's answer; its progress is shown on the way. ``more`` are arguments besides."""
        import tracekit

        verb = getattr(tracekit, self._verb)
        known = inspect.signature(_function(self._verb)).parameters
        given = {**self._given, **more}
        firsts = [
            given.pop(name, None)
            for name, one in known.items()
            if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty
        ]
        if "progress" not in known:
            return verb(*firsts, **given)
        with progress(self._verb.replace("_", "-")) as shown:
            return verb(*firsts, **given, progress=shown)


def subcommand(command: Callable[..., None], verb: str) -> Callable[..., None]:
    """The function that typer makes a subcommand of, with the verb's parameters and its own."""
    own = inspect.signature(command, eval_str=True).parameters
    if "asked" not in own:
        return command
    declared = _declared(verb)
    defaults = {name: one.default for name, (one, _, _) in declared.items()}
    kept = [one for name, one in own.items() if name != "asked" and name not in declared]

    def called(**typed: Any) -> None:
        given = {}
        for name, (_, _, option) in declared.items():
            value = typed.pop(name)
            if value is not None:
                _check_size(name, option, value)
                given[name] = _value(option, value)
        shown = {name: given.get(name, defaults[name]) for name in own if name in declared}
        command(Asked(verb, given), **shown, **typed)

    called.__name__, called.__doc__, called.__module__ = (
        "command",
        command.__doc__,
        command.__module__,
    )
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(_parameter(name, *one) for name, one in declared.items()),
            *(_own(one) for one in kept),
        ]
    )
    called.__annotations__ = {}
    return called


def settings_of(verb: str) -> dict[str, str]:
    """Parameters that a shared setting of ``tracekit.toml`` gives, with the name of that."""
    if verb not in commands.function_names():
        return {}
    return {
        name: option.setting for name, (_, _, option) in _declared(verb).items() if option.setting
    }


def _function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(
        importlib.import_module(f"{commands.__name__}.{name}"), name
    )
    return found


def _declared(verb: str) -> dict[str, tuple[inspect.Parameter, Any, Option]]:
    """The verb's parameters that the command line asks for, each with its type."""
    function = _function(verb)
    # what it returns is imported only once it is called
    notes = {name: note for name, note in function.__annotations__.items() if name != "return"}
    hints = typing.get_type_hints(
        types.SimpleNamespace(__annotations__=notes),
        globalns=vars(importlib.import_module(function.__module__)),
        include_extras=True,
    )
    found = {}
    for name, one in inspect.signature(function).parameters.items():
        kind, *about = typing.get_args(hints[name]) or [hints[name]]
        abouts = [note for note in about if isinstance(note, About)]
        if abouts:
            found[name] = one, kind, _option_of(abouts)
    return found


def _option_of(abouts: Sequence[About]) -> Option:
    """How a parameter is typed: each declaration, but for what the next one says otherwise."""
    said = {
        field.name: getattr(one, field.name)
        for one in abouts
        for field in dataclasses.fields(one)
        if getattr(one, field.name) != field.default
    }
    made = type(abouts[-1]) if isinstance(abouts[-1], Option) else Option
    return made(**said)


def _own(one: inspect.Parameter) -> inspect.Parameter:
    """A parameter of printing; one that a package declares is typed as a verb's is."""
    kind, *about = typing.get_args(one.annotation) or [one.annotation]
    abouts = [note for note in about if isinstance(note, About)]
    if abouts:
        return _parameter(one.name, one, kind, _option_of(abouts))
    return one.replace(kind=one.KEYWORD_ONLY)


def _check_size(name: str, option: Option, typed: Any) -> None:
    """Every whole number has an end, without every help text naming it."""
    for one in typed if isinstance(typed, list | tuple) else (typed,):
        if isinstance(one, int) and abs(one) > LARGEST:
            end = f"at most {LARGEST:,}" if one > 0 else f"at least {-LARGEST:,}"
            raise TracekitError(f"{_names(name, option)[0]} must be {end}, got {one}")


def _names(name: str, option: Option) -> list[str]:
    return option.names.split() or [f"--{name.replace('_', '-')}"]


def _value(option: Option, typed: Any) -> Any:
    if option.off:
        return not typed
    return option.read(typed) if option.read is not None and option.takes is not None else typed


def _parameter(name: str, one: inspect.Parameter, kind: Any, option: Option) -> inspect.Parameter:
    """The parameter as typer knows it."""
    optional = type(None) in typing.get_args(kind)
    required = one.default is one.empty and not optional
    # what is typed as another type has no default of that type, unless the option says it
    untyped = option.takes is not None or typing.get_origin(kind) is Sequence
    default = one.default if option.default is None else option.default
    if option.off:
        default = not default
    elif not required and (default is one.empty or (untyped and option.default is None)):
        default = None
    made = _argument if isinstance(option, Argument) else _option
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[_annotation(option, kind), made(name, option, kind)],
    )


def _argument(_: str, option: Option, kind: Any) -> Any:
    required = type(None) not in typing.get_args(kind)
    return typer.Argument(
        metavar=option.metavar,
        help=option.doc,
        parser=_parser(option),
        autocompletion=_completer(option),
        show_default=not required,
    )


def _option(name: str, option: Option, kind: Any) -> Any:
    flag = option.off or kind is bool
    return typer.Option(
        *_names(name, option),
        metavar=option.metavar,
        help=option.doc,
        parser=_parser(option),
        autocompletion=_completer(option),
        min=None if flag else option.minimum,
        max=None if flag else option.maximum,
        show_default=option.shown or True,
    )


def _completer(option: Option) -> Callable[[str], list[str]] | None:
    return completer(option.completes) if option.completes else None


def _parser(option: Option) -> Callable[[str], Any] | None:
    return option.read if option.takes is None else None


def _annotation(option: Option, kind: Any) -> Any:
    """The type of a value for typer; a value that is read already stays as it is."""
    if option.takes is not None:
        return option.takes
    single = typing.get_origin(kind) is not Sequence
    return Any if single and _parser(option) is not None else _typed(kind)


def _typed(kind: Any) -> Any:
    """A type as typer takes it: paths are paths, and what may be repeated is a list."""
    if typing.get_origin(kind) is Sequence:
        return list[_typed(typing.get_args(kind)[0])] | None  # type: ignore[misc]
    parts = typing.get_args(kind)
    if Path in parts:
        return Path | None if type(None) in parts else Path
    return kind
