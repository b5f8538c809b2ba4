"""Values of parameters as text, by their type: ``spell`` and ``read`` undo each other."""

import math
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, Literal

from tracekit.base.units import BINARY_BYTES

_SIZES = BINARY_BYTES


def spell(value: Any) -> str:
    """A value as text; ``from_text`` reads it back as the same value."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        each = (pair if isinstance(pair, str) else ":".join(map(spell, pair)) for pair in value)
        return "+".join(each) or "none"
    return repr(value) if isinstance(value, int | float) else str(value)


def describe(kind: Any) -> str:
    """The form of a value of this type, for errors and listings."""
    if typing.get_origin(kind) is Literal:
        return " or ".join(f"'{choice}'" for choice in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        alone = typing.get_args(kind)[0] is str
        return "words such as one+other" if alone else "pairs such as cpu:1+memory:1"
    if isinstance(kind, types.UnionType):
        return " or ".join(describe(part) for part in typing.get_args(kind))
    return {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        types.NoneType: "'none'",
    }.get(kind, "text")


def read(kind: Any, text: str) -> Any:
    """A value of this type from its text; raises ValueError when it is none."""
    origin = typing.get_origin(kind)
    if isinstance(kind, types.UnionType):
        return _read_union(typing.get_args(kind), text)
    if origin is Literal:
        return _one_of(typing.get_args(kind), text)
    if origin is tuple:
        each = typing.get_args(kind)[0]
        parts = [] if text == "none" else text.split("+")
        if each is str:
            return tuple(parts)
        return tuple(_read_pair(typing.get_args(each), part) for part in parts)
    return _SCALARS[kind](text)


def _read_union(kinds: Sequence[Any], text: str) -> Any:
    for kind in sorted(kinds, key=lambda kind: kind is str):
        try:
            return read(kind, text)
        except ValueError:
            continue
    raise ValueError(text)


def _one_of(choices: Sequence[str], text: str) -> str:
    if text not in choices:
        raise ValueError(text)
    return text


def _read_pair(kinds: Sequence[Any], text: str) -> tuple[Any, ...]:
    parts = text.rsplit(":", len(kinds) - 1)
    return tuple(read(kind, part) for kind, part in zip(kinds, parts, strict=True))


def _read_int(text: str) -> int:
    if text[-3:] in _SIZES:
        return int(text[:-3]) * _SIZES[text[-3:]]
    return int(text)


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _read_none(text: str) -> None:
    _one_of(("none",), text)


_SCALARS: dict[Any, Callable[[str], Any]] = {
    bool: lambda text: _one_of(("false", "true"), text) == "true",
    int: _read_int,
    float: _read_float,
    str: str,
    types.NoneType: _read_none,
}
