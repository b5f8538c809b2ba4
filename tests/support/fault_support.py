"""What fault tests compare: every byte of a store, and what one command said and left."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests_support import NODE_HEADER, csv_text, hex_id

#: Takes root's privileges away: to root nothing is read-only.
_UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


def tree(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a folder but the lock's."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def random_node_text(rows: int, seed: int = 0) -> str:
    """A Node table whose values do not compress, so that its archive is long."""
    values = np.random.default_rng(seed).random((rows, 2)).tolist()
    lines = [
        f"{at // 10 * 30000},{hex_id('node', at % 10)},{cpu!r},{memory!r}"
        for at, (cpu, memory) in enumerate(values)
    ]
    return csv_text(NODE_HEADER, lines)


def tracekit_command(
    *arguments: object, privileged: bool = True, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run tracekit in its own process, after the Python statements ``before``."""
    code = f"{before}\nimport sys; from tracekit.cli import main; main()"
    first: tuple[str, ...] = ()
    if not privileged and os.geteuid() == 0:
        if shutil.which(_UNPRIVILEGED[0]) is None:
            pytest.skip("root may write anywhere, and setpriv is not at hand")
        first = _UNPRIVILEGED
    return subprocess.run(
        [*first, sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"},
    )
