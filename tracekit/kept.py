"""Where what takes long to make is kept between calls: compiled code, and views that were bound.

Nothing there is data. It can be taken away at any time, and is made anew then.
"""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path


@functools.cache
def kept_folder() -> Path:
    """A folder that only this user, or who installed this package, writes to.

    It is beside the package's own compiled modules; else in the user's cache; else a new one, which
    is not found again.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracekit"
    for folder in (Path(__file__).parent / "__pycache__", user):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    # a name that others can tell beforehand could hold their code
    return Path(tempfile.mkdtemp(prefix="tracekit-"))
