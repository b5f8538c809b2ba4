"""Reads JSON of any length item by item: lists inside an answer, documents one after another."""

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import SHOWN_CHARACTERS, Head, Opened
from tracekit.store.broken_rows import (
    LIST_CUT_OFF,
    NESTED,
    NO_JSON,
    TOO_LARGE,
    TOO_LONG,
    VALUE_CUT_OFF,
)

_CHUNK_CHARS = 1 << 20
#: The end of an item of a list and the beginning of the next one, with what that begins with.
_BETWEEN = re.compile(r"\}\s*,\s*\{.{16}", re.DOTALL)
#: A longer value is not read: as objects it takes twenty times the memory of its text.
_LONGEST_CHARS = 16 << 20
#: So near to its end a text may be called wrong only because the rest has not been read yet.
_NEAR_END = 16
#: How JSON spells half of a character, which is none if the other half is missing.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: So much of a text is shown where it is wrong.
_PLACE = 20
#: What may stand at the end of a text that is cut off.
_BEGUN = ("true", "false", "null", "NaN", "-Infinity", "Infinity", ".", "e", "E")
#: Members of a document whose own members are the items.
_LISTS = ("items", "result", "data")
_AROUND = "data"


class Item(NamedTuple):
    """One item, counted from 1.

    Parameters
    ----------
    around : dict
        The members of the document that come before the list which the item is in; empty for an
        item that is a document itself.
    """

    number: int
    value: Any
    around: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The place where the text is no JSON any more, or ends too early.

    Parameters
    ----------
    last : bool
        Whether nothing after it can be read although more was to come.
    """

    number: int
    reason: str
    text: str
    last: bool = False


class _WrongError(Exception):
    """No JSON from here on."""


def items(opened: Opened, *, beside: list[dict[str, Any]] | None = None) -> Iterator[Item | Cut]:
    """The items of a file: what ``items``, ``data`` or ``data.result`` lists, an array, documents.

    After a broken document the next one that begins a line is read. ``beside`` is given the members
    of each document that are no such list, also of those that come after it.

    Raises
    ------
    TracekitError
        For a list that is cut off or broken, and for a broken document that is all there is: the
        rest is lost, and how much that was is unknown.
    """
    for item in pieces(opened, beside=beside):
        if isinstance(item, Cut) and item.last:
            raise TracekitError(
                f"{opened.name}: object {item.number:,} {item.reason}: {item.text[:60]!r}",
                hint="nothing of it was taken in; make or fetch the file again",
            )
        yield item


def pieces(opened: Opened, *, beside: list[dict[str, Any]] | None = None) -> Iterator[Item | Cut]:
    """The items up to where a list breaks off, which is a Cut then, the last one."""
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
                yield Cut(number=number, reason=str(error), text=shown, last=last)
                walk.number += 1
                if not more:
                    return


def first_members(head: Head) -> dict[str, Any]:
    """The members that a file's first document begins with, as far as its start shows them.

    A member that is a list or an object is shown as an empty one.
    """
    text = _Text(io.StringIO(head.start.decode(errors="replace").removeprefix("\ufeff")))
    found: dict[str, Any] = {}
    try:
        if text.take() != "{":
            return {}
        while text.peek() == '"':
            key = text.value()
            if text.take() != ":":
                return {}
            begins = text.peek()
            found[key] = {"{": {}, "[": []}.get(begins)
            value = text.value()
            if begins not in "{[":
                found[key] = value
            if text.take() != ",":
                break
    except _WrongError:
        pass
    return found


class _Text:
    """A text that is read on as far as the next value needs it."""

    def __init__(self, source: io.TextIOBase) -> None:
        self._source = source
        self._buffer, self._at, self._ended = "", 0, False
        self._decoder = json.JSONDecoder()
        #: What stands between items, once that is known, and whether it was not looked for yet.
        self._between, self._unread = "", False

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self) -> str:
        """The next character that is no blank, passed over."""
        found = self.peek()
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
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
                # what else a number can be: longer than Python reads
                raise _WrongError(TOO_LONG) from None
            if end == len(self._buffer) and self._more():
                continue
            if _SURROGATE.search(self._buffer, self._at, end):
                value = _as_text(value)
            self._at = end
            return value

    def begin_list(self) -> None:
        """The items that come are of another list."""
        self._between = ""

    def items(self) -> Iterable[Any]:
        """The next items of a list: all that are whole here, where they can be told apart, or one.

        What stands between the first two tells where an item ends.
        """
        self.peek()
        if self._between and self._unread:
            self._unread = False
            end = self._buffer.rfind(self._between) + 1
            if end > self._at:
                with contextlib.suppress(ValueError, RecursionError):
                    text = f"[{self._buffer[self._at : end]}]"
                    found = msgspec.json.decode(text, type=list[msgspec.Raw])
                    self._at = end
                    # one object at a time stays in the processor's cache
                    return map(_decoded, found)
        value = self.value()
        if not self._between and (found_there := _BETWEEN.match(self._buffer, self._at - 1)):
            self._between, self._unread = found_there[0], True
        return [value]

    def shown(self) -> str:
        """What stands here, as far as it is worth showing."""
        return self._buffer[self._at : self._at + SHOWN_CHARACTERS]

    def skip_to_document(self) -> bool:
        """Go on to the next line that begins a document."""
        while True:
            found = self._buffer.find("\n{", self._at)
            if found >= 0:
                self._at = found + 1
                return True
            self._at = max(len(self._buffer) - 1, self._at)
            if not self._more():
                return False

    def _more(self) -> bool:
        """Read on; the more is waiting already, the more at once."""
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
    """The value; a number that is too large for a float is one that Python reads."""
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
    """The value, in which halves of a character have become '?': no file can hold them."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text)


def _ends_early(error: json.JSONDecodeError) -> bool:
    """Whether a text that was read to its end could be right, had it gone on."""
    rest = error.doc[error.pos :].strip()
    within = error.msg.startswith("Invalid \\u") and len(rest) <= len("uXXXX")
    begun = any(word.startswith(rest) for word in _BEGUN)
    return begun or within or error.msg.startswith("Unterminated")


class _Walk:
    def __init__(self, text: _Text) -> None:
        self._text = text
        self.number = 0
        self.inside = False

    def document(self, around: dict[str, Any]) -> Iterator[Item]:
        """The items of the next document; ``around`` is given its other members."""
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
        found = self._text.peek()
        if not found:
            raise _WrongError(LIST_CUT_OFF)
        if found not in wanted:
            raise _WrongError(f"{NO_JSON}: expected {' or '.join(wanted)}")
        return self._text.take()
