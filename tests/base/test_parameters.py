"""Parameters as text: read, written back, refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.base import parameters
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About, Pairs


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One parameter of each type."""

    whole: Annotated[int, About("A whole number.", minimum=0, maximum=9_999_999_999)] = 3
    real: Annotated[float, About("A number.")] = 0.5
    word: Annotated[Literal["a", "b"], About("A choice.")] = "a"
    switch: Annotated[bool, About("On or off.")] = False
    pairs: Annotated[Pairs, About("Weights.")] = (("cpu", 1),)
    maybe: Annotated[float | None, About("A number or nothing.")] = None

    def __post_init__(self) -> None:
        parameters.check_ranges(self)


names = some.from_regex(r"[a-z][a-z./-]{0,8}", fullmatch=True)
samples = some.builds(
    Sample,
    whole=some.integers(0, 10**6),
    real=some.floats(allow_nan=False, allow_infinity=False),
    word=some.sampled_from(["a", "b"]),
    switch=some.booleans(),
    pairs=some.lists(some.tuples(names, some.integers(-5, 500)), max_size=3).map(tuple),
    maybe=some.none() | some.floats(allow_nan=False, allow_infinity=False),
)


@given(samples, some.booleans())
def test_what_is_written_is_read_back(sample: Sample, defaults: bool) -> None:
    text = f"sample[{parameters.spell_all(sample, defaults=defaults)}]"
    name, texts = parameters.split(text)
    assert name == "sample"
    assert parameters.build(Sample, "sample", texts) == sample


REFUSED = [
    *("whole=soon", "real=inf", "word=c", "switch=yes", "pairs=cpu", "maybe=some"),
    *("whole=-1", "whole=99999999999"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    _, texts = parameters.split(f"sample[{text}]")
    with pytest.raises(TracekitError) as raised:
        parameters.build(Sample, "sample", texts)
    assert all(word in raised.value.what for word in text.split("="))


def test_an_unknown_assumption_is_named_with_the_likely_one_or_all() -> None:
    with pytest.raises(TracekitError) as misspelled:
        parameters.build_from_settings(Sample, ["whle=1"])
    assert "'whole'" in str(misspelled.value.hint)
    with pytest.raises(TracekitError) as strange:
        parameters.build_from_settings(Sample, ["strange=1"])
    assert all(name in strange.value.what for name in ("strange", *parameters.names(Sample)))


def test_sizes_may_have_a_unit() -> None:
    assert parameters.build(Sample, "sample", {"whole": "2GiB"}) == Sample(whole=2 * 2**30)


@pytest.mark.parametrize("text", ["", "[a=1]", "name[a=1", "name]", "name[a]", "name[a=1,a=2]"])
def test_what_is_not_of_the_form(text: str) -> None:
    with pytest.raises(TracekitError):
        parameters.split(text)
