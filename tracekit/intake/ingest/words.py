"""Sort keys: the columns a table is ordered by, packed into as few 64-bit words as they need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, UInt64Array
from tracekit.intake.ingest.names import Keys
from tracekit.store.tables import Column, Table

_WORD_BITS = 64
_SIGN = np.uint64(1 << 63)
#: Up to so many rows numpy's sort is quicker than loading the compiled one.
PLAIN_ROWS = 200_000


@dataclass(frozen=True)
class Digit:
    """One column within the words: which word, how far up, how wide, what stands for zero."""

    column: Column
    word: int
    shift: int
    bits: int
    base: int


@dataclass(frozen=True)
class Packing:
    """How the columns of an order become words, the first word most significant."""

    digits: tuple[Digit, ...]
    words: int

    @property
    def first(self) -> tuple[Digit, ...]:
        """The columns in the first word."""
        return tuple(digit for digit in self.digits if digit.word == 0)

    @property
    def readable(self) -> dict[str, Digit]:
        """The columns that the first word says all about: times and keys in it."""
        return {d.column.name: d for d in self.first if d.column.kind != "number"}


def sorted_columns(table: Table) -> tuple[Column, ...]:
    """The columns that order a table's rows: its key, or all columns where it has none.

    Raises ValueError when a table is ordered by other columns than those of its key.
    """
    if table.key and set(table.key) != set(table.order):
        raise ValueError(f"table {table.name}: order must name the columns of key")
    first = [table.column(name) for name in table.order]
    rest = [] if table.key else [c for c in table.columns if c.name not in table.order]
    return (*first, *rest)


def pack(columns: Sequence[Column], ranges: Mapping[str, tuple[int, int]]) -> Packing:
    """Lay columns into words; ``ranges`` has the least and largest value of times and keys."""
    digits: list[Digit] = []
    word, free = -1, 0
    for column in columns:
        low, high = ranges.get(column.name, (0, 2**_WORD_BITS - 1))
        bits = max(1, (high - low).bit_length())
        if bits > free:
            word, free = word + 1, _WORD_BITS
        free -= bits
        digits.append(Digit(column, word, free, bits, low))
    return Packing(tuple(digits), word + 1)


def words_of(packing: Packing, values: Mapping[str, NDArray[np.generic]]) -> UInt64Array:
    """The words of rows, shape (words, rows); ``values`` are the columns, with the store's keys."""
    rows = next(iter(values.values())).size
    words = np.zeros((packing.words, rows), dtype=np.uint64)
    for digit in packing.digits:
        column = values[digit.column.name]
        whole = (
            _float_order(column)
            if digit.column.kind == "number"
            else (column.astype(np.int64) - digit.base).astype(np.uint64)
        )
        words[digit.word] |= whole << np.uint64(digit.shift)
    return words


def first_word(packing: Packing, values: Mapping[str, NDArray[Any]], keys: Keys) -> UInt64Array:
    """The first word of rows, shape (rows,); ``values`` are the columns, with the file's keys.

    A compiled loop for each column, but where a number stands in the word.
    """
    from tracekit.intake.ingest.radix import add_keys, add_times  # noqa: PLC0415 - as in sorted_words

    word = np.zeros(next(iter(values.values())).size, dtype=np.uint64)
    for digit in packing.first:
        column, shift = values[digit.column.name], np.uint64(digit.shift)
        if digit.column.kind == "number":
            word |= _float_order(column) << shift
        elif (known := keys.of(digit.column)) is None:
            add_times(word, column, digit.base, shift)
        else:
            add_keys(word, known, column, digit.base, shift)
    return word


def digit_of(word: UInt64Array, digit: Digit) -> NDArray[np.generic]:
    """The column that was put into the first word: times as int64, keys as int32."""
    mask = np.uint64((1 << digit.bits) - 1)
    whole = ((word >> np.uint64(digit.shift)) & mask).astype(np.int64) + digit.base
    return whole if digit.column.kind == "time" else whole.astype(np.int32)


def _float_order(values: NDArray[np.generic]) -> UInt64Array:
    """Integers in the order of the floats; NaN, which stands for NULL, first; -0 like 0."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return np.where(np.isnan(values.astype(np.float64)), np.uint64(0), ordered)


def order_of(words: UInt64Array) -> Int32Array:
    """The places of rows in ascending order of their words, equal ones as they came; (rows,)."""
    if words.shape[1] <= PLAIN_ROWS:
        return np.lexsort(words[::-1]).astype(np.int32)
    from tracekit.intake.ingest.radix import sorted_by  # noqa: PLC0415 - numba takes its time to load

    order = np.arange(words.shape[1], dtype=np.int32)
    for word in words[::-1]:
        order = sorted_by(word, order)[1]
    return order


def sorted_words(word: UInt64Array) -> tuple[UInt64Array, Int32Array]:
    """Words in ascending order, and the places they were at, equal ones as they came."""
    if word.size <= PLAIN_ROWS:
        order = np.argsort(word, kind="stable").astype(np.int32)
        return word[order], order
    from tracekit.intake.ingest.radix import sorted_by  # noqa: PLC0415 - numba takes its time to load

    return sorted_by(word, np.arange(word.size, dtype=np.int32))
