"""Damages bytes, lines and JSON as bad disks, programs and people do."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

#: What stands in a field that its author did not think of.
FIELDS = (
    "", " ", "-", "nan", "NaN", "inf", "-inf", "1e999", "-1", "-0.0", "0x10", "1_000", "1,5",
    "٣", "1e-320", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "30000.0",
    "30000.5", "1e5", "true", "null", "None", "(?)", "NAN", '"', '"a,b"', "'", "\\", "a\tb", "a\0b",
    "\x1b[31m", "\ufeff", "²", "é", "x" * 300, "../../etc", "%s%n", "'; DROP TABLE node; --",
)  # fmt: skip

#: What stands in a JSON document that its author did not think of.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**30, -(10**30), 1e308, -1e308, 0.1, "", "x", "nan", "1Gi", "100m",
    [], [None], [[]], {}, {"": None}, {"a": {"b": []}}, "\x1b[31m", "\ud800", "é" * 50,
)  # fmt: skip


def any_of(rng: Rng, things: Any) -> Any:
    """One item, drawn at random."""
    return things[int(rng.integers(len(things)))]


def mutated_bytes(data: bytes, rng: Rng) -> bytes:
    """The data with one to three kinds of damage."""
    for _ in range(int(rng.integers(1, 4))):
        data = any_of(rng, _BYTES)(data, rng)
    return data


def mutated_text(text: str, rng: Rng) -> str:
    """A short text (a policy, a threshold, a parameter) with one to four changes."""
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(text) + 1))
        end = min(len(text), at + int(rng.integers(0, 4)))
        text = text[:at] + str(any_of(rng, _TOKENS)) + text[end:]
    # neither the shell nor the operating system passes these on
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def mutated_json(document: Any, rng: Rng) -> Any:
    """The document with one to three of its values, keys or items changed."""
    document = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(document))
        if not places:
            return any_of(rng, VALUES)
        holder, key = any_of(rng, places)
        _change(holder, key, rng)
    return document


def json_bytes(document: Any, rng: Rng) -> bytes:
    """The document as JSON; now and then the text is damaged as well."""
    text = json.dumps(document).encode("utf-8", "surrogatepass")
    return mutated_bytes(text, rng) if rng.random() < 0.1 else text


def mutated_line(line: str, rng: Rng) -> str:
    """A CSV line with one field, or its form, changed."""
    fields = line.split(",")
    at = int(rng.integers(len(fields)))
    how = int(rng.integers(8))
    if how == 0:
        del fields[at]
    elif how == 1:
        fields.insert(at, str(any_of(rng, FIELDS)))
    elif how == 2:
        return ""
    elif how == 3:
        return line + str(any_of(rng, ("\r", " ", ",", "\r\r", "\t")))
    else:
        fields[at] = str(any_of(rng, FIELDS))
    return ",".join(fields)


def _places(document: Any) -> Any:
    if isinstance(document, dict):
        for key, value in document.items():
            yield document, key
            yield from _places(value)
    elif isinstance(document, list):
        for at, value in enumerate(document):
            yield document, at
            yield from _places(value)


def _change(holder: Any, key: Any, rng: Rng) -> None:
    how = int(rng.integers(6))
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[str(any_of(rng, FIELDS))] = holder.pop(key)
    elif how == 2 and isinstance(holder, list):
        holder.extend([copy.deepcopy(holder[key])] * int(rng.integers(1, 4)))
    elif how == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = any_of(rng, (-holder[key], holder[key] + 0.5, holder[key] * 10**9, 2**63))
    else:
        holder[key] = any_of(rng, VALUES)


def _flip(data: bytes, rng: Rng) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9))):
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(data: bytes, rng: Rng) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _without(data: bytes, rng: Rng) -> bytes:
    start, end = _slice(data, rng)
    return data[:start] + data[end:]


def _twice(data: bytes, rng: Rng) -> bytes:
    start, end = _slice(data, rng)
    return data[:end] + data[start:]


def _noise(data: bytes, rng: Rng) -> bytes:
    start, end = _slice(data, rng)
    return data[:start] + rng.bytes(end - start) + data[end:]


def _zeros(data: bytes, rng: Rng) -> bytes:
    start, end = _slice(data, rng)
    return data[:start] + bytes(end - start) + data[end:]


def _more(data: bytes, rng: Rng) -> bytes:
    return data + rng.bytes(int(rng.integers(1, 600)))


def _slice(data: bytes, rng: Rng) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(0, 80)))


_BYTES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    _flip, _flip, _cut, _without, _twice, _noise, _zeros, _more,
)  # fmt: skip

_TOKENS = (
    *FIELDS, "[", "]", "=", ",", "+", "(", ")", ".", "*", "/", "<=", ">", "base", "all", "-" * 50,
    "(" * 50, "9" * 40, "cpu:1", "mean", "none", "0", "1", "0.5", "\n", "--help",
)  # fmt: skip
