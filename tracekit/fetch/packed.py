"""Packed files, written with the same bytes for the same content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal import igzip

from tracekit.sources import Opened

_GZIP: Any = igzip.IGzipFile


@contextmanager
def packing(path: Path) -> Iterator[BinaryIO]:
    """A file that packs what is written to it."""
    with (
        path.open("wb") as raw,
        _GZIP(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
    ):
        yield cast("BinaryIO", packed)


def unpacked(path: Path) -> Opened:
    """A packed file as readers of sources take it."""
    return Opened(
        path=path, name=path.name, stream=lambda: BufferedReader(_GZIP(filename=path, mode="rb"))
    )
