"""Decimal text to float64: what is parsed at all is what Python's float gives, to the bit."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.arrays import FloatArray
from tracekit.intake.read.keytable import padded
from tracekit.intake.read.scan import number_at


def parsed(texts: list[str]) -> FloatArray:
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)], dtype=np.int64)[:-1]
    text = padded([(",".join(texts) + ",").encode()])
    return np.array([number_at(text, start)[0] for start in starts])


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def assert_exact(texts: list[str], *, all_of_them: bool = False) -> None:
    values = parsed(texts).tolist()
    for text, value in zip(texts, values, strict=True):
        if not math.isnan(value):
            assert bits(value) == bits(float(text)), text
        elif all_of_them:
            pytest.fail(f"{text} was not parsed")


HALFWAY = [
    "9007199254740993", "9007199254740995", "9007199254740993e1", "9007199254740992.5",
    "1.00000000000000011102230246251565", "1.000000000000000111", "4503599627370497.5",
    "8.5", "0.1", "2.2250738585072014e-308", "1.7976931348623157e308", "123456789012345678e20",
    "1090544144181609348671888949248e-12", "18446744073709551615", "18014398509481985",
]  # fmt: skip


def test_halves_between_two_floats_go_to_the_even_one() -> None:
    assert_exact(HALFWAY)


def test_what_a_usage_table_holds_is_parsed_here_and_not_left_to_others() -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    values = np.concatenate([rng.random(20_000), rng.random(20_000) * 0.01]).tolist()
    assert_exact([repr(value) for value in values if value > 1e-9], all_of_them=True)


@settings(max_examples=400)
@given(st.integers(0, 10**19 - 1), st.integers(-70, 50))
def test_any_digits_and_any_power(digits: int, power: int) -> None:
    assert_exact([f"{digits}e{power}"])


_NO_NUMBERS = (
    *("", "-", ".", "e5", "1e", "1e+", "0e", "0.0e", "-0e+", "0e9999999"),
    *("nan", "inf", "+1", "1" * 20, "1e400", "4.9e-324", "x"),
)


@pytest.mark.parametrize("text", _NO_NUMBERS)
def test_what_is_no_plain_number_is_not_taken(text: str) -> None:
    assert math.isnan(parsed([text])[0])


def test_where_a_number_ends() -> None:
    assert number_at(padded([b"0.5x,"]), 0)[1] == 3
    assert number_at(padded([b"-12e-1,"]), 0) == (-1.2, 6)
