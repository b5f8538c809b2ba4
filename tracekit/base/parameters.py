"""Parameters: dataclass fields with a sentence and a range, and their spelling as text.

``NAME[param=value,...]`` is read and written back as the same text. Values are numbers,
``true``/``false``, words, and pairs joined by '+': ``resources=cpu:1+memory:1``.
"""

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from tracekit.base import shape
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.units import BINARY_BYTES

_SIZES = BINARY_BYTES


def spell(value: Any) -> str:
    """Return a parameter's value as text: ``true``, ``none``, ``1.5``, ``cpu:1+memory:1``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        each = (pair if isinstance(pair, str) else ":".join(map(spell, pair)) for pair in value)
        return "+".join(each) or "none"
    return repr(value) if isinstance(value, int | float) else str(value)


def describe(kind: Any) -> str:
    """Return in words which values a type has, for errors and listings: ``a whole number``."""
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
    """Parse a text as a value of type ``kind``. Raise ValueError if that is impossible."""
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


T = TypeVar("T")

#: Pairs such as weights per resource, in the order given.
Pairs = tuple[tuple[str, int], ...]


class ParameterError(TracekitError):
    """The error for an impossible value of a parameter; ``field`` is the parameter's name."""

    def __init__(self, field: str, what: str, *, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.field = field


@dataclasses.dataclass(frozen=True)
class About:
    """The meaning and range of a parameter, as an annotation of its dataclass field.

    The range includes ``minimum`` and ``maximum``. Where one is None, an integer is still at most
    ``shape.LARGEST`` from zero, and a float has no limit.

    ``margin: Annotated[float, About("What it does.", minimum=0)] = 1.0``
    """

    doc: str
    minimum: float | None = None
    maximum: float | None = None

    def problem(self, value: float) -> str | None:
        """Return the limit that a value violates, as ``at least 0``, or None if it is in range."""
        beyond = shape.LARGEST if isinstance(value, int) else math.inf
        minimum = -beyond if self.minimum is None else self.minimum
        maximum = beyond if self.maximum is None else self.maximum
        if value < minimum:
            return f"at least {_spelled(minimum)}"
        return f"at most {_spelled(maximum)}" if value > maximum else None


def _spelled(limit: float) -> str:
    """A limit as one reads it: a whole number with all its digits."""
    return f"{limit:,.0f}" if limit == int(limit) else f"{limit:g}"


def about(kind: type[Any]) -> Mapping[str, About]:
    """Return the ``About`` of each field of a dataclass, by name, in the order of fields."""
    hashable: Any = kind  # a class is hashable, whatever its instances are
    return _about(hashable)


@functools.cache
def _about(kind: Any) -> Mapping[str, About]:
    hints = typing.get_type_hints(kind, include_extras=True)
    by_name = {}
    for name in names(kind):
        notes = [n for n in getattr(hints[name], "__metadata__", ()) if isinstance(n, About)]
        if not notes:
            raise TypeError(f"{kind.__name__}.{name} does not say what it is about")
        by_name[name] = notes[-1]  # of a shared declaration a policy may say more
    return types.MappingProxyType(by_name)


def check_ranges(owner: Any) -> None:
    """Raise ParameterError if a numeric field of a dataclass is outside of its ``About`` range."""
    for name, note in about(type(owner)).items():
        value = getattr(owner, name)
        problem = note.problem(value) if isinstance(value, int | float) else None
        if problem:
            raise ParameterError(name, f"parameter {name} must be {problem}, got {value}")


def split(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters in ``NAME[param=value,...]``.

    Raise TracekitError for a text of another form.
    """
    name, bracket, rest = text.strip().partition("[")
    if not name or (bracket and not rest.endswith("]")) or (not bracket and "]" in name):
        raise TracekitError(
            f"'{text}' is not NAME or NAME[param=value,...]", hint="quote it: 'NAME[param=value]'"
        )
    given: dict[str, str] = {}
    for item in filter(None, rest[:-1].split(",")) if bracket else ():
        key, equals, value = item.partition("=")
        if not equals or not key.strip() or key.strip() in given:
            raise TracekitError(
                f"'{item}' in '{text}' is not param=value, or given twice",
                hint="write NAME[param=value,param=value]",
            )
        given[key.strip()] = value.strip()
    return name.strip(), given


def build(kind: type[Any], owner: str, given: Mapping[str, str]) -> Any:
    """Build the dataclass ``kind`` from texts by field name. ``owner`` is its name in errors."""
    return kind(**read_all(kind, owner, given))


def build_from_settings(kind: type[T], settings: Iterable[str], *, of: str = "") -> T:
    """Build a dataclass of assumptions from ``name=value`` texts; ``of`` is its name in errors."""
    given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise TracekitError(
                f"assumption '{setting}' is not name=value",
                hint=f"names: {', '.join(names(kind))}",
            )
        given[name.strip()] = value.strip()
    allowed = names(kind)
    for name in given:
        if name not in allowed:
            what = f"there is no assumption '{name}'{of and f' for {of}'}"
            raise unknown_name(what, "there are", name, allowed)
    return kind(**read_all(kind, f"the assumptions{of and f' of {of}'}", given))


def read_all(kind: type[Any], owner: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of dataclass fields from their texts, by name.

    Raises TracekitError for an unknown name or a wrong text. The text ``inf`` is accepted only for
    a field with that default.
    """
    hints = _types(kind)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    return {
        name: defaults[name]
        if name in defaults and text == spell(defaults[name])
        else from_text(owner, name, _type_of(owner, hints, name), text)
        for name, text in given.items()
    }


def from_text(owner: str, name: str, kind: Any, text: str) -> Any:
    """Parse a text as a value of type ``kind``. Raise TracekitError if that is impossible."""
    try:
        return read(kind, text)
    except ValueError:
        raise TracekitError(
            f"parameter {name} of {owner} must be {describe(kind)}, got '{text}'"
        ) from None


def from_json(kind: type[Any], name: str, value: Any) -> Any:
    """Return the value of field ``name`` of a dataclass from its JSON value.

    A field that is a tuple of pairs is a list of lists, or an object, in JSON. Raises
    ParameterError for a value of another type.
    """
    wanted = _types(kind)[name]
    if typing.get_origin(wanted) is tuple:
        rows = list(value.items()) if isinstance(value, Mapping) else value
        _of_shape(name, rows, shape.list_of(_row_of(typing.get_args(wanted)[0])))
        return tuple(row if isinstance(row, str) else tuple(row) for row in rows)
    if typing.get_origin(wanted) is Literal:
        _of_shape(name, value, shape.one_of(*typing.get_args(wanted)))
    elif wanted in _SHAPES:
        _of_shape(name, value, _SHAPES[wanted])
    return wanted(value) if wanted in (int, float) else value


_SHAPES = {
    int: shape.number(whole=True),
    float: shape.number(),
    bool: shape.flag,
    str: shape.text,
}


def _row_of(row: Any) -> shape.Shape:
    """The shape of one part of a tuple: a word, or a tuple itself."""
    if row is str:
        return shape.text
    return shape.row(*(_SHAPES.get(kind, shape.anything) for kind in typing.get_args(row)))


def _of_shape(name: str, value: Any, wanted: shape.Shape) -> None:
    try:
        wanted(value, name)
    except shape.ShapeError as error:
        raise ParameterError(name, f"parameter {error}") from None


def names(kind: type[Any]) -> list[str]:
    """Return the names of a dataclass's fields, in order."""
    return [field.name for field in dataclasses.fields(kind)]


def spell_all(
    owner: Any,
    *,
    defaults: bool,
    also: Collection[str] = (),
    instead: Mapping[str, str] = types.MappingProxyType({}),
) -> str:
    """Return the fields of a dataclass as ``param=value,...``.

    Parameters
    ----------
    defaults : bool
        Whether fields that equal their default are included.
    also : collection of str
        Fields that are included even if they equal their default.
    instead : mapping of str to str
        Texts that replace values, by field name.
    """
    return ",".join(
        f"{field.name}={instead.get(field.name) or spell(getattr(owner, field.name))}"
        for field in dataclasses.fields(owner)
        if defaults or field.name in also or getattr(owner, field.name) != field.default
    )


def _types(kind: type[Any]) -> Mapping[str, Any]:
    hashable: Any = kind
    return _types_of(hashable)


@functools.cache
def _types_of(kind: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return types.MappingProxyType({name: hints[name] for name in names(kind)})


def _type_of(owner: str, hints: Mapping[str, Any], name: str) -> Any:
    if name not in hints:
        raise unknown_name(f"{owner} has no parameter '{name}'", "it has", name, list(hints))
    return hints[name]


def unknown_name(what: str, those: str, name: str, candidates: Sequence[str]) -> TracekitError:
    """Return an error that begins with ``what`` and suggests a similar candidate.

    If no candidate is similar, the error lists all of them after the words ``those``.
    """
    close = nearest(name, candidates)
    if close:
        return TracekitError(what, hint=f"did you mean '{close}'?")
    return TracekitError(f"{what}; {those}: {', '.join(candidates) or 'none'}")
