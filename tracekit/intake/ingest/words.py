"""Sort keys: packs the columns that order a table into as few 64-bit words as possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import Int32Array, UInt64Array
from tracekit.store.tables import Column, Table

_WORD_BITS = 64
_SIGN = np.uint64(1 << 63)
#: Up to so many rows numpy's sort takes less time than loading the compiled sort.
PLAIN_ROWS = 200_000


@dataclass(frozen=True)
class Digit:
    """The bits of the words in which one column of a sort key is packed.

    Attributes
    ----------
    word : the index of the word
    shift : the lowest bit of the column in the word
    bits : the number of bits
    base : the value that is stored as 0
    """

    column: Column
    word: int
    shift: int
    bits: int
    base: int


@dataclass(frozen=True)
class Packing:
    """How the columns of a sort key are packed into 64-bit words of a row.

    The column that sorts first has the highest bits of the first word.
    """

    digits: tuple[Digit, ...]
    words: int

    @property
    def first(self) -> tuple[Digit, ...]:
        """The columns in the first word."""
        return tuple(digit for digit in self.digits if digit.word == 0)

    @property
    def readable(self) -> dict[str, Digit]:
        """The times and keys in the first word, by name; they can be decoded from it."""
        return {d.column.name: d for d in self.first if d.column.kind != "number"}


def sorted_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns that order a table's rows.

    These are the columns of its key, or all columns of a table without a key.
    """
    first = [table.column(name) for name in table.order]
    rest = [] if table.key else [c for c in table.columns if c.name not in table.order]
    return (*first, *rest)


def pack(columns: Sequence[Column], ranges: Mapping[str, tuple[int, int]]) -> Packing:
    """Return the packing of columns; ``ranges`` has the least and largest time or key of each."""
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
    """Return the words of rows, uint64, shape (words, rows).

    Parameters
    ----------
    values : the columns, each of shape (rows,), with the store's keys
    """
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


def digit_of(word: UInt64Array, digit: Digit) -> NDArray[np.generic]:
    """Return a column, decoded from the first word, shape (rows,).

    Times are int64, keys are int32.
    """
    mask = np.uint64((1 << digit.bits) - 1)
    whole = ((word >> np.uint64(digit.shift)) & mask).astype(np.int64) + digit.base
    return whole if digit.column.kind == "time" else whole.astype(np.int32)


def _float_order(values: NDArray[np.generic]) -> UInt64Array:
    """Integers with the order of the floats; NaN, which means NULL, is first, and -0 equals 0."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return np.where(np.isnan(values.astype(np.float64)), np.uint64(0), ordered)


def order_of(words: UInt64Array) -> Int32Array:
    """Return the positions of rows in ascending order of their words, int32, shape (rows,).

    The sort is stable. ``words`` has the shape (words, rows).
    """
    if words.shape[1] <= PLAIN_ROWS:
        return np.lexsort(words[::-1]).astype(np.int32)
    from tracekit.intake.ingest.radix import sorted_by  # noqa: PLC0415 - numba takes its time to load

    order = np.arange(words.shape[1], dtype=np.int32)
    for word in words[::-1]:
        order = sorted_by(word, order)[1]
    return order


def sorted_words(word: UInt64Array) -> tuple[UInt64Array, Int32Array]:
    """Return words in ascending order, and the former position of each, both of shape (rows,)."""
    if word.size <= PLAIN_ROWS:
        order = np.argsort(word, kind="stable").astype(np.int32)
        return word[order], order
    from tracekit.intake.ingest.radix import sorted_by  # noqa: PLC0415 - numba takes its time to load

    return sorted_by(word, np.arange(word.size, dtype=np.int32))
