"""Shapes of JSON documents: fields with types and ranges, checked when a document is read.

``ShapeError`` has the place in the document, the value found, and the expected value.
"""

from collections.abc import Callable, Mapping
from typing import Any

#: Checks a value; the text is its place in the document, as ``nodes[2].name``.
Shape = Callable[[Any, str], None]

#: The largest whole number that every JSON reader keeps exactly.
LARGEST = 2**53
_SHOWN = 60


class ShapeError(ValueError):
    """The error for a JSON value of a wrong type or range. Its text has the value's path."""

    def __init__(self, place: str, value: Any, wanted: str) -> None:
        self.wanted = wanted
        super().__init__(f"{place or 'it'} is {shown(value)}, expected {wanted}")


def shown(value: Any) -> str:
    """Return a value for an error message: its JSON, shortened."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None:
        return "null"
    if isinstance(value, int) and abs(value) > 10**30:
        return f"a number of {_digits(value)} digits"
    spelled = str(value).lower() if isinstance(value, bool) else repr(value)
    return spelled if len(spelled) <= _SHOWN else f"{spelled[:_SHOWN]}..."


def _digits(value: int) -> int:
    """The approximate number of digits of an integer."""
    return int(value.bit_length() * 0.30103) + 1


def text(value: Any, place: str) -> None:
    """Check that a value is a string. ``place`` is its path in the document, for the error."""
    if not isinstance(value, str):
        raise ShapeError(place, value, "text")


def flag(value: Any, place: str) -> None:
    """Check that the value is ``true`` or ``false``."""
    if not isinstance(value, bool):
        raise ShapeError(place, value, "true or false")


def anything(_value: Any, _place: str) -> None:
    """Accept any value, as a check that always succeeds."""


def number(minimum: float = -LARGEST, maximum: float = LARGEST, *, whole: bool = False) -> Shape:
    """Return a check for a number from ``minimum`` to ``maximum``; if ``whole``, an integer."""
    kind = "a whole number" if whole else "a number"

    def check(value: Any, place: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ShapeError(place, value, kind)
        if not minimum <= value <= maximum or (whole and value != int(value)):
            raise ShapeError(place, value, f"{kind} from {minimum:,} to {maximum:,}")

    return check


def one_of(*words: str) -> Shape:
    """Return a check for a string that is one of the words."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, str) or value not in words:
            raise ShapeError(place, value, " or ".join(f"'{word}'" for word in words))

    return check


def optional(shape: Shape) -> Shape:
    """Return a check for a value that is ``null`` or passes the given check."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            shape(value, place)

    return check


def either(*shapes: Shape) -> Shape:
    """Return a check for a value that passes at least one of several checks.

    If it passes none, the error is the one of the last check.
    """

    def check(value: Any, place: str) -> None:
        for shape in shapes[:-1]:
            try:
                shape(value, place)
            except ShapeError:
                continue
            return
        shapes[-1](value, place)

    return check


def list_of(shape: Shape) -> Shape:
    """Return a check for a list in which every item passes the given check."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise ShapeError(place, value, "a list")
        for at, item in enumerate(value):
            shape(item, f"{place}[{at}]")

    return check


def row(*shapes: Shape) -> Shape:
    """Return a check for a list with one item for each given check; item i passes check i."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(shapes):
            raise ShapeError(place, value, f"a list of {len(shapes)}")
        for at, (shape, item) in enumerate(zip(shapes, value, strict=True)):
            shape(item, f"{place}[{at}]")

    return check


def map_of(shape: Shape) -> Shape:
    """Return a check for an object with any names, whose values all pass the given check."""

    def check(value: Any, place: str) -> None:
        for name, item in _object(value, place).items():
            shape(item, f"{place}.{name}")

    return check


def record(fields: Mapping[str, Shape]) -> Shape:
    """Return a check for an object whose fields pass these checks.

    A field with an ``optional`` check may be absent. Fields that are not named are ignored.
    """

    def check(value: Any, place: str) -> None:
        document = _object(value, place)
        for name, shape in fields.items():
            within = f"{place}.{name}" if place else name
            if name in document or _takes_null(shape):
                shape(document.get(name), within)
            else:
                raise ShapeError(within, _ABSENT, _wanted(shape))

    return check


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def _wanted(shape: Shape) -> str:
    """The words for the values that a shape expects."""
    try:
        shape(None, "")
    except ShapeError as error:
        return error.wanted
    return "a value"


def _takes_null(shape: Shape) -> bool:
    try:
        shape(None, "")
    except ShapeError:
        return False
    return True


def bounded(value: Any, place: str) -> None:
    """Check that all numbers in a value are finite, and at most 2**64 from zero."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            bounded(item, f"{place}.{name}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            bounded(item, f"{place}[{at}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number(-(2**64), 2**64)(value, place)


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ShapeError(place, value, "an object")
    return value
