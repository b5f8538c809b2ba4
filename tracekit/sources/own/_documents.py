"""JSON values one after the other: a line each, one document over many lines, a long list."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any

from tracekit.sources._cluster import Broken, Opened

_PIECE_BYTES = 1 << 20
_BLANK = " \t\r\n,"
_SHOWN = 200


def line_values(opened: Opened, table: str) -> Iterator[tuple[int, Any] | Broken]:
    """The JSON value of each line, with the line; one value over many lines is taken too.

    A line that is no JSON is a broken one of ``table``.
    """
    with opened.stream() as stream:
        first = stream.readline()
        while first and not first.strip():
            first = stream.readline()
        try:
            json.loads(first or b"null")
        except ValueError:
            begins = first.lstrip()[:1] in b"{["
            if begins and (whole := _whole(first + stream.read())) is not None:
                yield 1, whole
                return
    with opened.stream() as stream:
        for line, raw in enumerate(stream, start=1):
            if not raw.strip():
                continue
            try:
                value = json.loads(raw)
            except (ValueError, RecursionError) as error:
                yield broken_json(table, line, str(error), raw.decode(errors="replace"))
            else:
                yield line, value


def _whole(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def listed_values(opened: Opened, key: str, table: str) -> Iterator[tuple[int, Any] | Broken]:
    """The values of the lists ``"key": [...]`` of a file's documents, one at a time.

    They are numbered from 1. A document that ends within a value ends in a broken row of ``table``.
    """
    number = 0
    with opened.stream() as stream:
        text = _Text(stream)
        while text.after_list(f'"{key}"'):
            while not text.closed():
                number += 1
                try:
                    yield number, text.value()
                except ValueError as error:
                    yield broken_json(table, number, str(error), text.rest(_SHOWN))
                    return


def broken_json(table: str, line: int, said: str, text: str) -> Broken:
    """A piece of text that is no JSON."""
    return Broken(table=table, line=line, reason=f"is no JSON: {said[:120]}", text=text[:_SHOWN])


class _Text:
    """Text that is read as it is needed."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._json = json.JSONDecoder()
        self._held = ""
        self._at = 0
        self._piece = _PIECE_BYTES
        self._ended = False

    def after_list(self, key: str) -> bool:
        """Go behind ``key: [``; False where there is no such list."""
        while (at := self._held.find(key, self._at)) < 0 or "[" not in self._held[at:]:
            if self._ended:
                return False
            self._more()
        self._at = self._held.index("[", at) + 1
        return True

    def closed(self) -> bool:
        """Whether the list ends here."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at] == "]"
            if self._ended:
                # the value that would follow is missing, which value() tells
                return False
            self._more()

    def value(self) -> Any:
        """The next value; raises ValueError where there is none."""
        while True:
            try:
                found, self._at = self._json.raw_decode(self._held, self._at)
            except ValueError:
                if self._ended:
                    raise
                self._more()
            else:
                self._piece = _PIECE_BYTES
                return found

    def rest(self, most: int) -> str:
        return self._held[self._at : self._at + most]

    def _more(self) -> None:
        data = self._stream.read(self._piece)
        self._ended = not data
        self._held = self._held[self._at :] + self._decode(data, self._ended)
        self._at = 0
        # a long value is tried again only when twice as much is there
        self._piece *= 2
