"""The cache folder: compiled code, and bound views. It can be removed at any time."""

import functools
import hashlib
import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
#: Folders with the sources of compiled functions and of the constants in them.
_ROOMS = (
    "binding",
    "analysis/metrics",
    "cluster",
    "intake/ingest",
    "intake/read",
    "interference",
    "live",
    "policy/placement",
    "policy/search",
    "policy/view",
    "replay/fast",
    "sizing",
)


@functools.cache
def kept_folder() -> Path:
    """The cache folder, to which only this user or the installer of the package can write.

    It is in the package's ``__pycache__``, else in the user's cache, else a new temporary folder.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracekit"
    for folder in (_PACKAGE / "__pycache__", user):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    # others could put code into a folder whose name they can predict
    return Path(tempfile.mkdtemp(prefix="tracekit-"))


@functools.cache
def compiled_folder() -> Path:
    """The cache folder for compiled code of exactly these sources."""
    rooms = sorted(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))
    sources = [_PACKAGE / "base" / "jit.py", *rooms]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return kept_folder() / f"compiled-{digest}"


@functools.cache
def is_compiled(file: str) -> bool:
    """Whether the cache has compiled functions of a source file."""
    return any(compiled_folder().glob(f"*/{file.removesuffix('.py')}.*.nbi"))
