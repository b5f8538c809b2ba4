"""The compiled walk over lines of CSV: times, numbers and keys in one pass.

The walk takes only plain lines. It notes the place of every other line, an "odd" line. ``parse``
and ``validate`` decide about odd lines, as they decide about all lines of a small file.
"""

from typing import NamedTuple

import numpy as np

from tracekit.base.arrays import (
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    UInt8Array,
    UInt64Array,
)
from tracekit.base.jit import compiled
from tracekit.intake.read.blocks import PADDING
from tracekit.intake.read.coded import NAME, NUMBER, TIME, Fields
from tracekit.intake.read.keytable import (
    KeyTable,
    add,
    as_double,
    find,
    hash_of,
    high_product,
    leading_zeros,
    same_text,
)

# Decimal text to the nearest float64, exactly as Python's ``float`` gives it.
#
# Fewer than 2^53 as digits and a small power of ten: one exact division or product (Clinger 1990).
# Otherwise 128 bits of the power of five decide (Lemire, "Number parsing at a gigabyte per second",
# Software: Practice and Experience 51(8), 2021, algorithm 1; that the cut product always suffices:
# Mushtak and Lemire, "Fast number parsing without fallback", ibid. 53(7), 2023). Numbers
# outside both, such as twenty digits or subnormal results, are not parsed here.


_LEAST_POWER, _MOST_POWER = -60, 40
_EXACT_POWER = 22
_BIAS = 1023

_U0, _U1, _U3, _U9, _U52, _U63 = (np.uint64(n) for n in (0, 1, 3, 9, 52, 63))
_EXACT_DIGITS = np.uint64(1 << 53)
_LOW_NINE = np.uint64((1 << 9) - 1)
_HIDDEN_BIT = np.uint64(1 << 52)


def _power_of_five(power: int) -> int:
    """The 128 leading bits of ``5^power``; rounded up for a negative power."""
    if power < 0:
        divisor = 5**-power
        bits = divisor.bit_length() + 127 if divisor & (divisor - 1) else 127
        return (1 << bits) // divisor + 1
    value = 5**power
    shift = 128 - value.bit_length()
    return value << shift if shift >= 0 else value >> -shift


def _power_words() -> UInt64Array:
    powers = [_power_of_five(power) for power in range(_LEAST_POWER, _MOST_POWER + 1)]
    return np.array([[p >> 64 for p in powers], [p & (2**64 - 1) for p in powers]], dtype=np.uint64)


_FIVES = _power_words()
_TENS = np.array([float(10**power) for power in range(_EXACT_POWER + 1)])


#: The power for an ``e`` without digits: far above all powers that are decided here.
_NO_EXPONENT = 1 << 20


@compiled
def rounded(digits: np.uint64, power: int) -> float:
    """Return the float64 nearest to ``digits * 10^power``, or NaN where this fast method fails."""
    if digits <= _EXACT_DIGITS and -_EXACT_POWER <= power <= _EXACT_POWER:
        if power < 0:
            return float(digits) / _TENS[-power]
        return float(digits) * _TENS[power]
    # zero to any power is zero, but '0e' is no number
    if digits == _U0 and power < _NO_EXPONENT // 2:
        return 0.0
    if power < _LEAST_POWER or power > _MOST_POWER:
        return np.nan
    return _by_product(digits, power)


@compiled
def _by_product(digits: np.uint64, power: int) -> float:
    zeros = leading_zeros(digits)
    word = digits << zeros
    high = high_product(word, _FIVES[0, power - _LEAST_POWER])
    low = word * _FIVES[0, power - _LEAST_POWER]
    if high & _LOW_NINE == _LOW_NINE:
        more = high_product(word, _FIVES[1, power - _LEAST_POWER])
        low += more
        if low < more:
            high += _U1
    upper = high >> _U63
    shift = upper + _U9
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + _BIAS
    if exponent <= 0:
        return np.nan
    # exactly halfway between two floats: to the even one
    if low <= _U1 and -4 <= power <= 23 and mantissa & _U3 == _U1 and mantissa << shift == high:
        mantissa -= _U1
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >= _HIDDEN_BIT << _U1:
        mantissa = _HIDDEN_BIT
        exponent += 1
    bits = (mantissa & ~_HIDDEN_BIT) | (np.uint64(exponent) << _U52)
    return as_double(bits)  # type: ignore[call-arg]  # numba hands in the context


_MINUS, _POINT, _NOUGHT, _SMALL_E, _LARGE_E = ord("-"), ord("."), ord("0"), ord("e"), ord("E")
_PLUS = ord("+")
_MOST_DIGITS = 19
_TEN = np.uint64(10)


@compiled
def number_at(text: UInt8Array, start: int) -> tuple[float, int]:
    """Return the number that starts at ``start``, and the position behind it.

    The number is NaN if the text is no number, or if the fast method of ``rounded`` fails. The byte
    behind the number must not be part of a number.
    """
    at = start
    negative = text[at] == _MINUS
    if negative:
        at += 1
    digits, figures, power, begun = _U0, 0, 0, at
    while True:
        figure = text[at] - _NOUGHT
        if figure < 0 or figure > 9:
            break
        digits = digits * _TEN + np.uint64(figure)
        at += 1
    figures = at - begun
    if text[at] == _POINT:
        at += 1
        point = at
        while True:
            figure = text[at] - _NOUGHT
            if figure < 0 or figure > 9:
                break
            digits = digits * _TEN + np.uint64(figure)
            at += 1
        power = point - at
        figures += at - point
    if figures > _MOST_DIGITS:
        figures -= _leading_noughts(text, begun)
    if figures == 0 or figures > _MOST_DIGITS:
        return np.nan, at
    if text[at] == _SMALL_E or text[at] == _LARGE_E:
        more, at = _exponent_at(text, at + 1)
        power += more
    value = rounded(digits, power)
    return (-value if negative else value), at


@compiled
def _leading_noughts(text: UInt8Array, begun: int) -> int:
    at, noughts = begun, 0
    while text[at] == _NOUGHT or text[at] == _POINT:
        noughts += text[at] == _NOUGHT
        at += 1
    return noughts


@compiled
def _exponent_at(text: UInt8Array, start: int) -> tuple[int, int]:
    """The whole number after an ``e``, and its end; a huge number if the text is no number."""
    at = start
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begun, value = at, 0
    while True:
        figure = text[at] - _NOUGHT
        if figure < 0 or figure > 9:
            break
        value = min(value * 10 + figure, _NO_EXPONENT)
        at += 1
    if at == begun:
        return _NO_EXPONENT, at
    return (-value if negative else value), at


DONE, FULL, SHORT_OF_KEYS = 0, 1, 2
_COMMA, _END, _SPACE, _DELETE, _ZERO = 0x2C, 0x0A, 0x20, 0x7F, 0x30
_MOST_TIME_FIGURES = 18


class Rows(NamedTuple):
    """The arrays to which ``scan`` writes, with room for ``len(lines)`` rows.

    An odd line is one that the scan cannot read; a slower parser reads it afterwards.

    Attributes
    ----------
    times, numbers, keys : (columns, rows) int64, float64, int32
    lines : the line number of each row, int64
    odd : start, end and number of each odd line, (3, rows) int64
    unknown : by field and spelling, the number of unknown names, int64
    above : by field, the number of values above the usual maximum, int64
    guess : by field, the length of its last name, int64
    follow : by field and context, the last id in this context, -1 for none, int32; see ``scan``
    trusted : by field, whether the scan tries ``follow`` first
    hits : by field, the number of rows for which ``follow`` was right, int64
    """

    times: IntArray
    numbers: FloatArray
    keys: Int32Array
    lines: IntArray
    odd: IntArray
    unknown: IntArray
    above: IntArray
    guess: IntArray
    follow: Int32Array
    trusted: BoolArray
    hits: IntArray


@compiled
def scan(  # noqa: C901, PLR0912, PLR0915 - one walk: with names looked up in a part of its own it takes twice as long
    text: UInt8Array,
    start: int,
    line: int,
    fields: Fields,
    table: KeyTable,
    rows: Rows,
    main: int,
) -> tuple[int, int, int, int, int]:
    """Read lines from ``start`` on, until the text ends or ``rows`` or ``table`` is full.

    ``text`` holds whole lines and ``PADDING`` bytes. Returns the reason for the end (``DONE``,
    ``FULL`` or ``SHORT_OF_KEYS``), the position and number of the next line, the number of rows and
    the number of odd lines.

    Traces repeat: after one container comes the same container, service and node as the last time.
    So a name is first compared with the last id in the same context, from ``rows.follow``. A
    field's context is the id of field ``main``: in the same line for fields after ``main``, and in
    the line before for other fields. The expected text is close in memory to the text before it,
    while a look-up by hash may lead anywhere in memory.
    """
    whats, places, kinds_of, required, absent, least, usual_most = fields
    slots, hashes, starts, id_text, kinds, local_keys, counts, used = table
    times, numbers, keys, lines, odds, unknown, above, guess, follow, trusted, hits = rows
    end, width, room = text.size - PADDING, whats.size, lines.size
    name_start, name_size = np.empty(width, np.int64), np.empty(width, np.int64)
    name_code, name_key = np.empty(width, np.uint64), np.empty(width, np.int64)
    contexts = follow.shape[1] - 1
    row = odd = 0
    before = np.int64(-1)
    while start < end:
        if room in (row, odd):
            return FULL, start, line, row, odd
        at, good, new_ids, new_bytes = start, True, 0, 0
        for field in range(width):
            stop = _COMMA if field < width - 1 else _END
            what = whats[field]
            if what == NAME:
                kind, size = kinds_of[field], guess[field]
                key, code = -1, np.uint64(0)
                # a text that equals an id byte for byte needs no check
                if trusted[field]:
                    context = name_key[main] if field > main else before
                    likely = follow[field, context & contexts] if context >= 0 else np.int32(-1)
                    if likely >= 0:
                        id_start = starts[likely]
                        long = starts[likely + 1] - id_start
                        if (
                            at + long < end
                            and text[at + long] == stop
                            and same_text(text, at, id_text, id_start, long)
                        ):
                            key, size = np.int64(likely), long
                if key < 0 and at + size < end and text[at + size] == stop:
                    code = hash_of(text, at, size, kind)
                    key = find(slots, hashes, starts, id_text, text, at, size, code)
                if key < 0:
                    size = _plain_end(text, at) - at
                    if text[at + size] != stop:
                        good = False
                        break
                    code = hash_of(text, at, size, kind)
                    key = find(slots, hashes, starts, id_text, text, at, size, code)
                    guess[field] = size
                if key < 0:
                    new_ids += 1
                    new_bytes += size
                elif local_keys[key] < 0 and required[field]:
                    good = False
                    break
                name_start[field], name_size[field] = at, size
                name_code[field], name_key[field] = code, key
                at += size
            elif what == NUMBER:
                if text[at] == stop and absent[field]:
                    numbers[places[field], row] = np.nan
                else:
                    value, at = number_at(text, at)
                    # a NaN fails this comparison too
                    good = value >= least[field]
                    numbers[places[field], row] = value
            elif what == TIME:
                time, at = _whole_at(text, at)
                good = time >= least[field]
                times[places[field], row] = time
            else:
                at = _plain_end(text, at)
            if not good or text[at] != stop:
                good = False
                break
            at += 1
        if not good:
            at = _line_end(text, start) + 1
            odds[0, odd], odds[1, odd], odds[2, odd] = start, at, line
            odd += 1
        else:
            if used[0] + new_ids > hashes.size or used[1] + new_bytes > id_text.size - PADDING:
                return SHORT_OF_KEYS, start, line, row, odd
            for field in range(width):
                if whats[field] == NAME:
                    key = name_key[field]
                    if key < 0:
                        key = add(
                            slots, hashes, starts, id_text, kinds, local_keys, counts, used, text,
                            name_start[field], name_size[field], kinds_of[field], name_code[field],
                        )  # fmt: skip
                        name_key[field] = key
                    context = name_key[main] if field > main else before
                    if context >= 0:
                        hits[field] += follow[field, context & contexts] == key
                        follow[field, context & contexts] = key
                    local = local_keys[key]
                    if local < 0:
                        unknown[field, -1 - local] += 1
                        local = np.int32(-1)
                    keys[places[field], row] = local
                elif whats[field] == NUMBER and numbers[places[field], row] > usual_most[field]:
                    above[field] += 1
            before = name_key[main]
            lines[row] = line
            row += 1
        start = at
        line += 1
    return DONE, start, line, row, odd


@compiled
def _plain_end(text: UInt8Array, at: int) -> int:
    """The end of the plain ASCII text at ``at``: a comma, a line end, or another byte."""
    while True:
        byte = text[at]
        if byte == _COMMA or byte < _SPACE or byte >= _DELETE:
            return at
        at += 1


@compiled
def _line_end(text: UInt8Array, at: int) -> int:
    while text[at] != _END:
        at += 1
    return at


@compiled
def _whole_at(text: UInt8Array, start: int) -> tuple[int, int]:
    """The whole number at ``start``, and its end; the smallest int64 if the text is no number."""
    at, value = start, 0
    while True:
        figure = np.int64(text[at]) - _ZERO
        if figure < 0 or figure > 9 or at - start > _MOST_TIME_FIGURES:
            break
        value = value * 10 + figure
        at += 1
    if at == start or at - start > _MOST_TIME_FIGURES:
        return np.int64(-(2**63)), at
    return value, at
