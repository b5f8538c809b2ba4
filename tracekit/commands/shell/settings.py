"""A project's settings: ``tracekit.toml`` in the current folder or one above it.

What is typed goes before what the file says, and that before the default. The file has what a
project's calls share, ``policies``, ``thresholds``, the tables ``assume`` and ``prices``, and a
table for each subcommand with its options by their names: ``[replay]``, ``repeat = 20``.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import is_file, read_text
from tracekit.base.parameters import spell

FILE = "tracekit.toml"
#: Values that a file may give an option.
_PLAIN = (str, int, float, bool)
#: Code of a user's own, in whatever part of a policy it is named.
_CODE = re.compile(r"\.py\b", re.IGNORECASE)
#: An address of a server; a file of this machine is no such address.
_URL = re.compile(r"(?!file:)[a-z][a-z0-9+]*://", re.IGNORECASE)
#: What may stand before or behind a path in a text.
_BESIDE_PATHS = re.compile(r"[=:,;+*\[\]\s]+")
#: Options that name what runs: whoever wrote a file here does not decide that.
_TYPED_ALONE = ("kubectl", "engine")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The contents of a settings file, ``tracekit.toml``.

    Parameters
    ----------
    shared : mapping
        Values of settings for several subcommands: ``policies``, ``assume``, ``thresholds``, ...
    commands : mapping
        For each subcommand the values of its options, by option name without dashes.
    """

    path: Path
    shared: Mapping[str, Any] = field(default_factory=dict)
    commands: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def find(folder: Path) -> Path | None:
    """Return the settings file of the nearest folder from ``folder`` upwards; None without one."""
    return next((path for one in [folder, *folder.parents] if is_file(path := one / FILE)), None)


def read(
    path: Path,
    known_shared: Sequence[str],
    known_commands: Sequence[str],
    formerly: Mapping[str, str],
) -> Settings:
    """Return the settings of a file; raises TracekitError for other than TOML and unknown names.

    ``formerly`` maps old names of subcommands to their present names.
    """
    try:
        document = tomllib.loads(read_text(path))
    except OSError as error:
        raise TracekitError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        raise TracekitError(
            f"{path} is not TOML: {'it is nested too deeply' if deep else error}",
            hint="see docs/how-to/settings.md",
        ) from None
    shared, commands = {}, {}
    for name, value in document.items():
        if name in known_shared:
            shared[name] = value
        elif formerly.get(name, name) in known_commands and isinstance(value, dict):
            commands[formerly.get(name, name)] = value
        else:
            raise _unknown(path, name, [*known_shared, *known_commands])
    return Settings(path=path, shared=shared, commands=commands)


def _unknown(path: Path, name: str, names: Sequence[str]) -> TracekitError:
    close = nearest(name, names)
    suggestion = f"did you mean '{close}'? " if close else ""
    return TracekitError(
        f"{path.name} has no setting '{name}'", hint=f"{suggestion}it may have: {', '.join(names)}"
    )


def defaults(
    settings: Settings, name: str, command: Any, shared: Mapping[str, str]
) -> dict[str, Any]:
    """Return the new defaults of the parameters that the settings file changes.

    Parameters
    ----------
    command : the subcommand as typer has it
    shared : the parameters that take a shared setting, each with the name of that setting
    """
    options = {flag.lstrip("-"): one for one in command.params for flag in one.opts
               if flag.startswith("--") and one.name not in {"help", None}}  # fmt: skip
    made: dict[str, Any] = {}
    for one in command.params:
        setting = shared.get(one.name, "")
        if setting in settings.shared:
            made[one.name] = _value(settings.path, setting, settings.shared[setting], one)
    for key, value in settings.commands.get(name, {}).items():
        if key not in options:
            raise _unknown(settings.path, key, sorted(options))
        if key in _TYPED_ALONE:
            raise TracekitError(
                f"{settings.path.name} may not set '{key}': it says which program runs",
                hint=f"type it: --{key}",
            )
        made[options[key].name] = _value(settings.path, key, value, options[key])
    for parameter, value in made.items():
        _check_no_code(settings.path, value)
        _check_inside(settings.path, parameter, value)
    return made


def _value(path: Path, key: str, value: Any, option: Any) -> Any:
    if option.multiple:
        return _listed(path, key, value)
    if not isinstance(value, _PLAIN):
        raise TracekitError(f"{path.name}: {key} must be one value, got {value}")
    return value if isinstance(value, bool) else str(value)


def _listed(path: Path, key: str, value: Any) -> list[str]:
    """A list, or a table of ``name = value``, as it would be typed one by one."""
    if isinstance(value, dict):
        value = [f"{name}={spell(one)}" for name, one in value.items()]
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, _PLAIN) for one in values):
        raise TracekitError(f"{path.name}: {key} must be a list of values, got {value}")
    return [spell(one) for one in values]


def _check_no_code(path: Path, value: Any) -> None:
    """Code is run only when who types the command says so, not whoever wrote a file here."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and _CODE.search(one):
            raise TracekitError(
                f"{path.name} names code to run: {one}",
                hint="a policy of your own is given on the command line: --policy ./mine.py",
            )


def _check_inside(path: Path, name: str, value: Any) -> None:
    """Refuse paths outside of the file's folder and the current one, wherever links lead.

    Every text is checked, and every part of a text such as ``openb:PATH`` or ``NAME=FILE``.
    """
    inside = [folder.resolve() for folder in (path.parent, Path.cwd())]
    for one in value if isinstance(value, list) else [value]:
        text = str(one)
        for part in [] if _URL.match(text) else [text, *_BESIDE_PATHS.split(text)]:
            place = Path(part).resolve()
            if part.strip("/ ") and not any(place.is_relative_to(folder) for folder in inside):
                raise TracekitError(
                    f"{path.name} may not set '{name}' to {one}: it is outside of {path.parent}",
                    hint="type it after the command",
                )


def merged(typed: Sequence[str], stated: Sequence[str]) -> list[str]:
    """Return the ``name=value`` texts of the file that no typed one replaces, then the typed."""
    names = {text.partition("=")[0] for text in typed}
    return [*(text for text in stated if text.partition("=")[0] not in names), *typed]
