from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fetch_support import NODE, Mirror, Take, archive_bytes, serving

from tracekit.commands.fetch import fetch
from tracekit.intake.fetch import FetchSummary, Retries


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


@pytest.fixture
def take(mirror: Mirror, tmp_path: Path, retries: Retries) -> Take:
    """Fetch the Node archive from the mirror."""

    def fetched(**options: object) -> FetchSummary:
        defaults = {"tables": ["node"], "base_url": mirror.base_url, "retries": retries}
        return fetch("ctm21", tmp_path / "out", **{**defaults, **options})  # type: ignore[arg-type]

    return fetched


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where the Node archive goes."""
    return tmp_path / "out" / NODE
