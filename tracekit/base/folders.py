"""Folders of tracekit: ``queries`` and ``reports``, and the cache folder.

In an installed wheel ``queries`` and ``reports`` are inside the package; in a checkout or an
editable install they are beside it. The current folder is never searched. The cache folder has
compiled code and bound views; it can be removed at any time.
"""

import functools
import hashlib
import os
import tempfile
from pathlib import Path

from tracekit.base.errors import TracekitError

_PACKAGE = Path(__file__).resolve().parents[1]


def asset_dir(name: str) -> Path:
    """Return the path of this installation's folder ``queries`` or ``reports``.

    Raises
    ------
    TracekitError
        When the installation has no such folder.
    """
    shipped = _PACKAGE / "_assets" / name
    if shipped.is_dir():
        return shipped
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise TracekitError(
        f"this installation of tracekit has no '{name}' folder, looked in {shipped}",
        hint="reinstall tracekit; the wheel carries queries/ and reports/",
    )


#: Folders with the sources of compiled functions and of the constants in them.
_ROOMS = (
    "binding",
    "analysis/metrics",
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
def cache_folder() -> Path:
    """Return the cache folder, to which only this user or the installer of the package can write.

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
    """Return the cache folder for compiled code. Each version of the sources has its own folder."""
    rooms = sorted(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))
    sources = [_PACKAGE / "base" / "jit.py", *rooms]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return cache_folder() / f"compiled-{digest}"


@functools.cache
def is_compiled(file: str) -> bool:
    """Return whether the cache holds compiled functions of a source file, such as ``table.py``."""
    return any(compiled_folder().glob(f"*/{file.removesuffix('.py')}.*.nbi"))
