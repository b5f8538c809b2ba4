"""An unfinished download: ``.NAME.part`` has the first bytes of the file.

``.NAME.part.json`` describes the file on the server. Both names are hidden, so that ``ingest`` can
read a folder while a fetch fills it.
"""

import dataclasses
import errno
import json
import shutil
from pathlib import Path
from typing import BinaryIO

import msgspec

from tracekit.base import units
from tracekit.base.files.durable import put
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_text
from tracekit.intake.fetch.http import FetchError, Remote


class Part:
    """The unfinished download of ``target``."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f".{target.name}.part")
        self._about = target.with_name(f".{target.name}.part.json")

    @property
    def size_bytes(self) -> int:
        """The number of bytes on the disk; 0 where the description of their file is missing."""
        return self.path.stat().st_size if self.path.exists() and self.remote is not None else 0

    @property
    def remote(self) -> Remote | None:
        """The description of the file, as the server gave it with the bytes; None without one."""
        try:
            return msgspec.json.decode(read_text(self._about), type=Remote)
        except (OSError, ValueError, RecursionError):
            return None

    def begin(self, remote: Remote) -> None:
        """Start over: discard the bytes, and write the description of the file."""
        self.discard()
        with replaced_file(self._about, follow=False) as aside:
            aside.write_text(json.dumps(dataclasses.asdict(remote)))

    def open_end(self) -> BinaryIO:
        """Open the unfinished file to append bytes."""
        return self.path.open("ab", buffering=0)

    def discard(self) -> None:
        """Remove the bytes and their description."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the whole file its final name."""
        put({self.path: self.target}, self.target.parent)
        self._about.unlink(missing_ok=True)

    def check_room(self, remote: Remote, here_bytes: int) -> None:
        """Raise FetchError unless the disk has room for the remaining bytes."""
        free = shutil.disk_usage(self.target.parent).free
        missing = (remote.length or 0) - here_bytes
        if missing > free:
            raise FetchError(
                f"no room for {self.target.name}: {units.size(missing)} are still to come,"
                f" {units.size(free)} are free on the disk",
                hint="make room, or fetch fewer parts: --parts 0-3",
                passing=False,
                everywhere=True,
            )


def disk_error(error: OSError, path: Path) -> FetchError:
    """The FetchError for an error of the operating system while writing; it ends the fetch."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    what = "the disk is full" if full else f"cannot write: {error.strerror}"
    return FetchError(
        f"{what} at {path}",
        hint="make room, then run the same command again: it goes on where it stopped"
        if full
        else "name a folder you may write to",
        passing=False,
        everywhere=True,
    )
