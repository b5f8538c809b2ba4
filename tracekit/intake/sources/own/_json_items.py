"""Reads JSON of any length item by item: a list inside an answer, or many documents."""

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import SHOWN_CHARACTERS, Head, Opened
from tracekit.store.broken_rows import (
    LIST_CUT_OFF,
    NESTED,
    NO_JSON,
    TOO_LARGE,
    TOO_LONG,
    VALUE_CUT_OFF,
)

_CHUNK_CHARS = 1 << 20
#: The end of an item of a list, and the first characters of the next item.
_BETWEEN = re.compile(r"\}\s*,\s*\{.{16}", re.DOTALL)
#: The longest value that is read: as objects it takes twenty times the memory of its text.
_LONGEST_CHARS = 16 << 20
#: A fault so close to the end of the text may mean only that the rest is not read yet.
_NEAR_END = 16
#: Half of a character in JSON; alone it is no character.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: The characters that a message shows at a fault.
_PLACE = 20
#: Words that a cut may leave unfinished at the end of a text.
_BEGUN = ("true", "false", "null", "NaN", "-Infinity", "Infinity", ".", "e", "E")
#: Members of a document that list the items.
_LISTS = ("items", "result", "data")
_AROUND = "data"


class Item(NamedTuple):
    """One item of a JSON file, as ``items`` yields it; ``number`` counts from 1.

    Parameters
    ----------
    around : dict
        The members of the document before the list of the item; empty for an item that is a whole
        document.
    """

    number: int
    value: Any
    around: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class BrokenItem:
    """A fault in a JSON file: from here the text is no JSON, or it ends too early.

    Parameters
    ----------
    last : bool
        Whether nothing after the fault can be read.
    """

    number: int
    reason: str
    text: str
    last: bool = False


class _WrongError(Exception):
    """The text is no JSON from here on."""


def items(
    opened: Opened, *, beside: list[dict[str, Any]] | None = None
) -> Iterator[Item | BrokenItem]:
    """Yield the items of a file of JSON documents, and a ``BrokenItem`` for each broken document.

    Items are the elements of the list ``items``, ``data`` or ``data.result`` of a document, or of
    an array. A document without such a list is one item. After a broken document, reading goes on
    with the next line that begins a document.

    Parameters
    ----------
    beside : list of dict, optional
        Gets, for each document, its members except this list.

    Raises
    ------
    TracekitError
        For a broken list, and for a broken document if it is the only one.
    """
    for item in pieces(opened, beside=beside):
        if isinstance(item, BrokenItem) and item.last:
            raise TracekitError(
                f"{opened.name}: object {item.number:,} {item.reason}: {item.text[:60]!r}",
                hint="nothing of it was taken in; make or fetch the file again",
            )
        yield item


def pieces(
    opened: Opened, *, beside: list[dict[str, Any]] | None = None
) -> Iterator[Item | BrokenItem]:
    """Yield the items of a file like ``items``; the last is a ``BrokenItem``, not an error."""
    with opened.stream() as stream:
        buffered = cast("BinaryIO", stream)
        text = _Text(io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="replace"))
        walk = _Walk(text)
        while text.peek():
            try:
                around: dict[str, Any] = {}
                if beside is not None:
                    beside.append(around)
                yield from walk.document(around)
            except _WrongError as error:
                number, shown, inside = walk.number + 1, text.shown(), walk.inside
                more = not inside and text.skip_to_document()
                last = inside or (number == 1 and not more)
                yield BrokenItem(number=number, reason=str(error), text=shown, last=last)
                walk.number += 1
                if not more:
                    return


def first_members(head: Head) -> dict[str, Any]:
    """Return the members of a file's first document, as far as ``head`` reaches.

    A list or an object is replaced by an empty one.
    """
    text = _Text(io.StringIO(head.start.decode(errors="replace").removeprefix("\ufeff")))
    members: dict[str, Any] = {}
    try:
        if text.take() != "{":
            return {}
        while text.peek() == '"':
            key = text.value()
            if text.take() != ":":
                return {}
            begins = text.peek()
            members[key] = {"{": {}, "[": []}.get(begins)
            value = text.value()
            if begins not in "{[":
                members[key] = value
            if text.take() != ",":
                break
    except _WrongError:
        pass
    return members


class _Text:
    """A text that is read piece by piece, as the next value needs it."""

    def __init__(self, source: io.TextIOBase) -> None:
        self._source = source
        self._buffer, self._at, self._ended = "", 0, False
        self._decoder = json.JSONDecoder()
        #: The text between two items, empty while unknown; whether the buffer has new text.
        self._between, self._unread = "", False

    def peek(self) -> str:
        """The next character that is no blank; empty at the end of the text."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self) -> str:
        """Read the next character that is no blank."""
        character = self.peek()
        self._at += 1
        return character

    def value(self) -> Any:
        """Read the next value; raises _WrongError where the text is no JSON."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                unread = error.msg.startswith("Unterminated") or (
                    error.pos >= len(self._buffer) - _NEAR_END
                )
                if unread and self._more():
                    continue
                raise _WrongError(
                    VALUE_CUT_OFF
                    if _ends_early(error)
                    else f"{NO_JSON}: {error.msg} before {error.doc[error.pos :][:_PLACE]!r}"
                ) from None
            except RecursionError:
                raise _WrongError(NESTED) from None
            except ValueError:
                # a number with more digits than Python reads
                raise _WrongError(TOO_LONG) from None
            if end == len(self._buffer) and self._more():
                continue
            if _SURROGATE.search(self._buffer, self._at, end):
                value = _as_text(value)
            self._at = end
            return value

    def begin_list(self) -> None:
        """Begin another list, whose separator of items is not known yet."""
        self._between = ""

    def items(self) -> Iterable[Any]:
        """Read the next items of a list: one, or all whole items of the buffer.

        The text between the first two items shows where each further item ends.
        """
        self.peek()
        if self._between and self._unread:
            self._unread = False
            end = self._buffer.rfind(self._between) + 1
            if end > self._at:
                with contextlib.suppress(ValueError, RecursionError):
                    text = f"[{self._buffer[self._at : end]}]"
                    raw = msgspec.json.decode(text, type=list[msgspec.Raw])
                    self._at = end
                    # one object at a time stays in the processor's cache
                    return map(_decoded, raw)
        value = self.value()
        if not self._between and (between := _BETWEEN.match(self._buffer, self._at - 1)):
            self._between, self._unread = between[0], True
        return [value]

    def shown(self) -> str:
        """The next characters, for a message."""
        return self._buffer[self._at : self._at + SHOWN_CHARACTERS]

    def skip_to_document(self) -> bool:
        """Skip to the next line that begins a document; False where no such line follows."""
        while True:
            line = self._buffer.find("\n{", self._at)
            if line >= 0:
                self._at = line + 1
                return True
            self._at = max(len(self._buffer) - 1, self._at)
            if not self._more():
                return False

    def _more(self) -> bool:
        """Read a further piece, as long as the unread text; False at the end."""
        if self._ended:
            return False
        rest = self._buffer[self._at :]
        room = _LONGEST_CHARS - len(rest)
        if room <= 0:
            raise _WrongError(TOO_LARGE)
        data = self._source.read(min(max(_CHUNK_CHARS, len(rest)), room))
        self._ended = not data
        self._buffer, self._at, self._unread = rest + data, 0, True
        return bool(data)


def _decoded(raw: msgspec.Raw) -> Any:
    """Decode an item; Python reads a number that is too large for msgspec."""
    try:
        return _decode(raw)
    except ValueError:
        pass
    try:
        return json.loads(bytes(raw))
    except RecursionError:
        raise _WrongError(NESTED) from None
    except ValueError:
        raise _WrongError(TOO_LONG) from None


_decode = msgspec.json.Decoder().decode


def _as_text(value: Any) -> Any:
    """Replace each half of a character by '?': no file can hold it."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text)


def _ends_early(error: json.JSONDecodeError) -> bool:
    """Whether a fault may be only that the text ends too early."""
    rest = error.doc[error.pos :].strip()
    within = error.msg.startswith("Invalid \\u") and len(rest) <= len("uXXXX")
    begun = any(word.startswith(rest) for word in _BEGUN)
    return begun or within or error.msg.startswith("Unterminated")


class _Walk:
    """Walks through the documents of a text and yields their items."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self.number = 0
        self.inside = False

    def document(self, around: dict[str, Any]) -> Iterator[Item]:
        """Yield the items of the next document; ``around`` gets its other members."""
        self.inside = False
        if self._text.peek() == "[":
            yield from self._list({})
        elif self._text.peek() == "{":
            yield from self._object(around)
        else:
            raise _WrongError(f"{NO_JSON}: expected {{ or [")

    def _object(self, around: dict[str, Any]) -> Iterator[Item]:
        self._text.take()
        listed, nested = False, self.inside
        if self._text.peek() == "}":
            self._text.take()
            return
        while True:
            key = self._text.value()
            self._expect(":")
            begins = self._text.peek()
            if key in _LISTS and begins == "[":
                listed = True
                yield from self._list(around)
            elif key == _AROUND and begins == "{" and not nested:
                listed = True
                self.inside = True
                yield from self._object(around)
            else:
                around[key] = self._text.value()
            if self._expect(",}") == "}":
                break
        if not listed and not nested:
            self.number += 1
            yield Item(number=self.number, value=around, around={})
        self.inside = nested

    def _list(self, around: dict[str, Any]) -> Iterator[Item]:
        self._text.take()
        before, self.inside = self.inside, True
        if self._text.peek() == "]":
            self._text.take()
        else:
            self._text.begin_list()
            while True:
                for value in self._text.items():
                    self.number += 1
                    yield Item(number=self.number, value=value, around=around)
                if self._expect(",]") == "]":
                    break
        self.inside = before

    def _expect(self, wanted: str) -> str:
        character = self._text.peek()
        if not character:
            raise _WrongError(LIST_CUT_OFF)
        if character not in wanted:
            raise _WrongError(f"{NO_JSON}: expected {' or '.join(wanted)}")
        return self._text.take()
