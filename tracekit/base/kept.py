"""The folder for things that take long to make: compiled code, and views that were bound.

Nothing there is data. It can be removed at any time, and is then made again.
"""

import functools
import hashlib
import os
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
#: Where compiled functions are written, and what constants they hold.
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
    """A folder that only this user, or who installed this package, writes to.

    It is beside the package's own compiled modules; else in the user's cache; else a new one, which
    is not found again.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracekit"
    for folder in (_PACKAGE / "__pycache__", user):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    # a name that others can tell beforehand could hold their code
    return Path(tempfile.mkdtemp(prefix="tracekit-"))


@functools.cache
def compiled_folder() -> Path:
    """Where compiled code of exactly these sources is kept."""
    rooms = sorted(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))
    sources = [_PACKAGE / "base" / "jit.py", *rooms]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return kept_folder() / f"compiled-{digest}"


@functools.cache
def is_compiled(file: str) -> bool:
    """Whether functions of a source file are there compiled; nothing is loaded to find out."""
    return any(compiled_folder().glob(f"*/{file.removesuffix('.py')}.*.nbi"))
