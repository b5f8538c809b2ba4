"""A subcommand made of a library function: its parameters are those of the function's signature.

A file of ``tracekit.commands`` has a library function, such as ``replay``, and a function
``command``, which prints what the library function returns. ``command`` gets a ``Call``, the
parameters of the library function that it prints, by their names, and options of its own, which
concern printing and exit codes.
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


class Call:
    """A library function with the arguments that were typed."""

    def __init__(self, function: str, arguments: Mapping[str, Any]) -> None:
        self._function = function
        self._arguments = arguments

    def __call__(self, **more: Any) -> Any:
        """Call the function, with progress on stderr; ``more`` are further arguments."""
        import tracekit

        function = getattr(tracekit, self._function)
        parameters = inspect.signature(_function(self._function)).parameters
        arguments = {**self._arguments, **more}
        positional = [
            arguments.pop(name, None)
            for name, one in parameters.items()
            if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty
        ]
        if "progress" not in parameters:
            return function(*positional, **arguments)
        with progress(self._function.replace("_", "-")) as lines:
            return function(*positional, **arguments, progress=lines)


def subcommand(command: Callable[..., None], function: str) -> Callable[..., None]:
    """Return the function that typer makes a subcommand of.

    Parameters
    ----------
    command : callable
        The function ``command`` of a file; returned as it is when it takes no ``call``.
    function : str
        The library function's name.
    """
    own = inspect.signature(command, eval_str=True).parameters
    if "call" not in own:
        return command
    declared = _declared(function)
    defaults = {name: one.default for name, (one, _, _) in declared.items()}
    further = [one for name, one in own.items() if name != "call" and name not in declared]

    def called(**typed: Any) -> None:
        arguments = {}
        for name, (_, _, option) in declared.items():
            value = typed.pop(name)
            if value is not None:
                _check_size(name, option, value)
                arguments[name] = _value(option, value)
        shown = {name: arguments.get(name, defaults[name]) for name in own if name in declared}
        command(Call(function, arguments), **shown, **typed)

    called.__name__, called.__doc__, called.__module__ = (
        "command",
        command.__doc__,
        command.__module__,
    )
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(_parameter(name, *one) for name, one in declared.items()),
            *(_own(one) for one in further),
        ]
    )
    called.__annotations__ = {}
    return called


def settings_of(function: str) -> dict[str, str]:
    """Parameters that a shared setting of ``tracekit.toml`` sets, and the setting's name."""
    if function not in commands.function_names():
        return {}
    declared = _declared(function).items()
    return {name: option.setting for name, (_, _, option) in declared if option.setting}


def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(
        importlib.import_module(f"{commands.__name__}.{name}"), name
    )
    return function


def _declared(name: str) -> dict[str, tuple[inspect.Parameter, Any, Option]]:
    """The parameters of a library function that are typed, each with its type and its option."""
    function = _function(name)
    # the return type is imported only once the function is called
    notes = {one: note for one, note in function.__annotations__.items() if one != "return"}
    hints = typing.get_type_hints(
        types.SimpleNamespace(__annotations__=notes),
        globalns=vars(importlib.import_module(function.__module__)),
        include_extras=True,
    )
    declared = {}
    for parameter, one in inspect.signature(function).parameters.items():
        kind, *about = typing.get_args(hints[parameter]) or [hints[parameter]]
        abouts = [note for note in about if isinstance(note, About)]
        if abouts:
            declared[parameter] = one, kind, _option_of(abouts)
    return declared


def _option_of(abouts: Sequence[About]) -> Option:
    """The option of several declarations; a later declaration overrides an earlier one."""
    fields = {
        field.name: getattr(one, field.name)
        for one in abouts
        for field in dataclasses.fields(one)
        if getattr(one, field.name) != field.default
    }
    made = type(abouts[-1]) if isinstance(abouts[-1], Option) else Option
    return made(**fields)


def _own(one: inspect.Parameter) -> inspect.Parameter:
    """A parameter of ``command`` alone; typer's own annotations stay as they are."""
    kind, *about = typing.get_args(one.annotation) or [one.annotation]
    abouts = [note for note in about if isinstance(note, About)]
    if abouts:
        return _parameter(one.name, one, kind, _option_of(abouts))
    return one.replace(kind=one.KEYWORD_ONLY)


def _check_size(name: str, option: Option, typed: Any) -> None:
    """Refuse a whole number beyond ``LARGEST``."""
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
    """The parameter as typer takes it."""
    optional = type(None) in typing.get_args(kind)
    required = one.default is one.empty and not optional
    # a default of another type than the typed text is left to the library function
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
    """The type that typer reads; ``Any`` where the option reads the value itself."""
    if option.takes is not None:
        return option.takes
    single = typing.get_origin(kind) is not Sequence
    return Any if single and _parser(option) is not None else _typed(kind)


def _typed(kind: Any) -> Any:
    """A type as typer takes it: ``Path`` for a path or text, ``list`` for a sequence."""
    if typing.get_origin(kind) is Sequence:
        return list[_typed(typing.get_args(kind)[0])] | None  # type: ignore[misc]
    parts = typing.get_args(kind)
    if Path in parts:
        return Path | None if type(None) in parts else Path
    return kind
