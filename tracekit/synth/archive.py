"""Writing one CSV into one tar.gz, the same bytes every time."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import IO

from isal import igzip

LEVEL = 1
_MTIME = 1_591_923_600
_WRITE_BYTES = 1 << 20


def pack(text: IO[bytes], size_bytes: int, path: Path, *, name: str, in_folder: bool) -> int:
    """Write ``text`` as ``name``.csv into the archive ``path``; return the archive's size in bytes.

    Nothing in the archive depends on the machine or the moment.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("wb") as raw,
        igzip.IGzipFile(  # type: ignore[no-untyped-call]
            filename="", mode="wb", compresslevel=LEVEL, fileobj=raw, mtime=0
        ) as packed,
        tarfile.open(
            fileobj=packed, mode="w|", bufsize=_WRITE_BYTES, format=tarfile.USTAR_FORMAT
        ) as tar,
    ):
        folder = f"{name}/" if in_folder else ""
        if in_folder:
            tar.addfile(_member(name, 0, tarfile.DIRTYPE, 0o755))
        tar.addfile(_member(f"{folder}{name}.csv", size_bytes, tarfile.REGTYPE, 0o644), text)
    return path.stat().st_size


def _member(name: str, size_bytes: int, kind: bytes, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mode, info.mtime = size_bytes, kind, mode, _MTIME
    return info


def empty_folder(path: Path) -> None:
    """Make ``path`` an empty folder."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
