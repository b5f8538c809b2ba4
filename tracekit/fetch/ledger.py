"""What has been fetched into a folder, kept in it as ``.fetch.json``."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock

from tracekit.opened import read_text

NAME = ".fetch.json"
LOCK = ".fetch.lock"
SCHEMA = "tracekit/fetched/1"


class Ledger:
    """Size and sha256 of every archive that was found whole; written anew with each."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._lock = Lock()
        self._files: dict[str, dict[str, object]] = _read(self._path)

    def sha256(self, path: str, size_bytes: int) -> str | None:
        """The sha256 of an archive that has been checked at that size."""
        entry = self._files.get(path, {})
        return str(entry["sha256"]) if entry.get("size_bytes") == size_bytes else None

    def note(self, path: str, *, size_bytes: int, sha256: str, url: str) -> None:
        """Keep that an archive is whole."""
        with self._lock:
            self._files[path] = {"size_bytes": size_bytes, "sha256": sha256, "url": url}
            document = {"schema": SCHEMA, "files": dict(sorted(self._files.items()))}
            aside = self._path.with_name(f"{NAME}.new")
            aside.write_text(json.dumps(document, indent=2) + "\n")
            aside.replace(self._path)


def _read(path: Path) -> dict[str, dict[str, object]]:
    try:
        document = json.loads(read_text(path))
    except (OSError, ValueError):
        return {}
    known = isinstance(document, dict) and document.get("schema") == SCHEMA
    return dict(document["files"]) if known else {}
