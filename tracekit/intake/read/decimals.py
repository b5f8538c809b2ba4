"""Decimal text to the nearest float64, exactly as Python's ``float`` gives it.

Fewer than 2^53 as digits and a small power of ten: one exact division or product (Clinger 1990).
Otherwise 128 bits of the power of five decide (Lemire, "Number parsing at a gigabyte per second",
Software: Practice and Experience 51(8), 2021, algorithm 1; that the cut product always suffices:
Mushtak and Lemire, "Fast number parsing without fallback", ibid. 53(7), 2023). What is outside
both, such as twenty digits or subnormal results, is not parsed here: the caller goes another way.
"""

import numpy as np

from tracekit.base.arrays import UInt8Array, UInt64Array
from tracekit.base.jit import compiled
from tracekit.intake.read.instructions import as_double, high_product, leading_zeros

_LEAST_POWER, _MOST_POWER = -60, 40
_EXACT_POWER = 22
_BIAS = 1023

_U0, _U1, _U3, _U9, _U52, _U63 = (np.uint64(n) for n in (0, 1, 3, 9, 52, 63))
_EXACT_DIGITS = np.uint64(1 << 53)
_LOW_NINE = np.uint64((1 << 9) - 1)
_HIDDEN_BIT = np.uint64(1 << 52)


def _power_of_five(power: int) -> int:
    """The 128 leading bits of ``5^power``; of a negative power rounded up."""
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


#: The power of an ``e`` without digits: far beyond all that can be read here.
_NO_EXPONENT = 1 << 20


@compiled
def rounded(digits: np.uint64, power: int) -> float:
    """The float64 nearest to ``digits * 10^power``; NaN when that is to be found out elsewhere."""
    if digits <= _EXACT_DIGITS and -_EXACT_POWER <= power <= _EXACT_POWER:
        if power < 0:
            return float(digits) / _TENS[-power]
        return float(digits) * _TENS[power]
    # nought to whatever power is nought, but '0e' is no number
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


_MINUS, _POINT, _ZERO, _SMALL_E, _LARGE_E = ord("-"), ord("."), ord("0"), ord("e"), ord("E")
_PLUS = ord("+")
_MOST_DIGITS = 19
_TEN = np.uint64(10)


@compiled
def number_at(text: UInt8Array, start: int) -> tuple[float, int]:
    """The number that starts at ``start``, and the place behind it.

    NaN when there is none, or none that can be read here. The text must go on behind the number
    with a byte that is part of none.
    """
    at = start
    negative = text[at] == _MINUS
    if negative:
        at += 1
    digits, figures, power, begun = _U0, 0, 0, at
    while True:
        figure = text[at] - _ZERO
        if figure < 0 or figure > 9:
            break
        digits = digits * _TEN + np.uint64(figure)
        at += 1
    figures = at - begun
    if text[at] == _POINT:
        at += 1
        point = at
        while True:
            figure = text[at] - _ZERO
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
    while text[at] == _ZERO or text[at] == _POINT:
        noughts += text[at] == _ZERO
        at += 1
    return noughts


@compiled
def _exponent_at(text: UInt8Array, start: int) -> tuple[int, int]:
    """The whole number behind an ``e``; one that is far too large when there is none."""
    at = start
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    begun, value = at, 0
    while True:
        figure = text[at] - _ZERO
        if figure < 0 or figure > 9:
            break
        value = min(value * 10 + figure, _NO_EXPONENT)
        at += 1
    if at == begun:
        return _NO_EXPONENT, at
    return (-value if negative else value), at
