from __future__ import annotations

from collections.abc import Iterator

import pytest
from fetch_support import NODE, Mirror, archive_bytes, serving

from tracekit.fetch import Retries


@pytest.fixture
def node() -> bytes:
    """The content of the mirror's Node archive: a few chunks long."""
    return archive_bytes(700_000)


@pytest.fixture
def mirror(node: bytes) -> Iterator[Mirror]:
    """A mirror of one archive."""
    with serving({NODE: node}) as running:
        yield running


@pytest.fixture
def naps() -> list[float]:
    """The waits that were asked for."""
    return []


@pytest.fixture
def retries(naps: list[float]) -> Retries:
    """The usual back-off, without the waiting."""
    return Retries(sleep=naps.append)
