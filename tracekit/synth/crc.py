"""The CRC-32 of two texts in a row, from theirs apart (as zlib's ``crc32_combine``)."""

from __future__ import annotations

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def combined(first: int, second: int, second_bytes: int) -> int:
    """CRC-32 of a text of CRC ``first`` followed by one of ``second_bytes`` and CRC ``second``.

    A CRC is a polynomial over GF(2); what follows a text multiplies it by x to the number of bits.
    """
    return _times(_power_of_x(8 * second_bytes), first) ^ second


def _times(a: int, b: int) -> int:
    """The product of two polynomials modulo that of CRC-32, bits in reverse order."""
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _power_of_x(exponent: int) -> int:
    power, square = _ONE, _ONE >> 1
    while exponent:
        if exponent & 1:
            power = _times(power, square)
        square = _times(square, square)
        exponent >>= 1
    return power
