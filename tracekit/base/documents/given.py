"""A configuration, read field by field: fields that nobody read are known at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracekit.base.errors import TracekitError, nearest

#: What every object of Kubernetes may say of itself.
_OBJECT = ("apiVersion", "kind", "metadata")


class Given:
    """A mapping of a document, its path in it, and which of its keys were looked at.

    Parameters
    ----------
    values : mapping
        None counts as an empty one.
    where : str
        As errors and notes say it, for example ``profiles[0].plugins``.

    Attributes
    ----------
    told : list of str
        What of it cannot be done, for the reader; ``notes`` has it all.
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, Mapping | None):
            raise self.wrong(where, values, "a mapping")
        self._values: Mapping[str, Any] = values or {}
        self._asked: set[str] = set(_OBJECT)
        self._inside: list[Given] = []
        self.where = where
        self.told: list[str] = []

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def fields(self) -> list[str]:
        """All keys, in order."""
        return [str(key) for key in self._values]

    def number(self, key: str, default: float, *, least: float | None = None) -> float:
        """A number, also one written as text; its default where it is not given."""
        value = self._take(key)
        if value is None:
            return default
        try:
            found = float(value) if not isinstance(value, bool) else float("nan")
        except (TypeError, ValueError):
            found = float("nan")
        if not abs(found) < float("inf") or (least is not None and found < least):
            wanted = "a number" if least is None else f"a number of at least {least:g}"
            raise self.wrong(self._at(key), value, wanted)
        return found

    def whole(self, key: str, default: int, *, least: int = 0) -> int:
        """A whole number."""
        value = self._take(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(self._at(key), value, f"a whole number of at least {least}")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(self._at(key), value, "a text")
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(self._at(key), value, "true or false")
        return value

    def inside(self, key: str) -> Given:
        """A mapping in it, empty where it is not given."""
        return self._child(self._take(key), self._at(key))

    def rows(self, key: str) -> Iterator[Given]:
        """The mappings of a list in it, none where it is not given."""
        value = self._take(key)
        if not isinstance(value, list | None):
            raise self.wrong(self._at(key), value, "a list")
        for at, one in enumerate(value or ()):
            yield self._child(one, f"{self._at(key)}[{at}]")

    def names(self, key: str) -> list[str]:
        """The texts of a list in it."""
        value = self._take(key)
        if not isinstance(value, list | None) or not all(isinstance(v, str) for v in value or ()):
            raise self.wrong(self._at(key), value, "a list of texts")
        return list(value or ())

    def amounts(self, key: str) -> dict[str, float]:
        """Numbers by name."""
        inner = self.inside(key)
        return {name: inner.number(name, 0.0) for name in inner.fields()}

    def ignore(self, *keys: str) -> None:
        """These keys are no matter of a replay, and not told of."""
        self._asked.update(keys)

    def without_effect(self, *keys: str) -> None:
        """These keys are real and change nothing in a replay: those given are told in one line."""
        given = [self._at(key) for key in keys if key in self._values and key not in self._asked]
        self.ignore(*keys)
        if given:
            self.told.append(f"{', '.join(given)} {'have' if given[1:] else 'has'} no effect here")

    def narrows(self, *keys: str) -> None:
        """These keys would leave containers alone that a replay moves: those given are told."""
        self._leave_out(keys, "more")

    def widens(self, *keys: str) -> None:
        """These keys would move containers that a replay leaves alone: those given are told."""
        self._leave_out(keys, "fewer")

    def _leave_out(self, keys: Sequence[str], how_many: str) -> None:
        given = [self._at(key) for key in keys if key in self._values and key not in self._asked]
        self.ignore(*keys)
        if given:
            are = "are" if given[1:] else "is"
            told = f"left out, so that {how_many} may be moved than in a cluster"
            self.told.append(f"{', '.join(given)} {are} {told}")

    def check_spelling(self) -> None:
        """Refuse a key that nobody asked for and that is nearly one that somebody did.

        To be called when all has been read.

        Raises
        ------
        TracekitError
            With the key's path and the key that was meant.
        """
        for key in self.fields():
            close = None if key in self._asked else nearest(key, sorted(self._asked))
            if close:
                raise TracekitError(
                    f"{self._at(key)} is not known", hint=f"did you mean '{close}'?"
                )
        for one in self._inside:
            one.check_spelling()

    def unread(self) -> list[str]:
        """Paths of the keys that nobody asked for, here and in what was looked at."""
        own = [self._at(key) for key in self.fields() if key not in self._asked]
        return list(dict.fromkeys([*own, *(path for one in self._inside for path in one.unread())]))

    def notes(self) -> list[str]:
        """Notes on parts that cannot be followed, of this document and of those read from it."""
        return [*self.told, *(note for one in self._inside for note in one.notes())]

    def _child(self, value: Any, where: str) -> Given:
        self._inside.append(Given(value, where))
        return self._inside[-1]

    def _take(self, key: str) -> Any:
        self._asked.add(key)
        return self._values.get(key)

    def _at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    @staticmethod
    def wrong(where: str, value: Any, wanted: str) -> TracekitError:
        """The error for a value that is not what is wanted there."""
        shown = str(value)
        return TracekitError(f"{where} is {shown[:60]!r}, expected {wanted}")


def milli(values: Given, key: str, default: int) -> int:
    """A quantity of CPU in thousandths: ``500m`` or a number of cores."""
    if key not in values:
        values.ignore(key)
        return default
    try:
        text = values.text(key)
    except TracekitError:
        return round(1000 * values.number(key, 0.0, least=0))
    try:
        amount = float(text.removesuffix("m")) * (1 if text.endswith("m") else 1000)
    except ValueError:
        raise Given.wrong(f"{values.where}.{key}", text, "CPU such as 500m or 2") from None
    return round(amount)
