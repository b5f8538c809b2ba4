from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tracekit.base.files.ahead import ahead


def test_items_come_in_order() -> None:
    assert list(ahead(iter(range(100)))) == list(range(100))


def test_what_the_source_raises_is_raised_after_the_items_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise EOFError("cut")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(EOFError, match="cut"):
        next(items)


def test_leaving_early_stops_the_thread() -> None:
    before = threading.active_count()
    made = []

    def endless() -> Iterator[int]:
        for number in range(1_000_000):
            made.append(number)
            yield number

    reader = ahead(endless())
    assert next(reader) == 0
    reader.close()
    assert threading.active_count() == before
    assert len(made) < 20
