"""JSON values of lines, each with the line it stands in; or one value over many lines."""

import json
from collections.abc import Iterator
from typing import Any

from tracekit.intake.sources._cluster import Broken, Opened


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
        except (ValueError, RecursionError):
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
    except (ValueError, RecursionError):
        return None


def broken_json(table: str, line: int, said: str, text: str) -> Broken:
    """A piece of text that is no JSON."""
    return Broken(table=table, line=line, reason=f"is no JSON: {said[:120]}", text=text)
