"""What fault tests take: a table whose archive is long, and a command in its own process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests_support import NODE_HEADER, csv_text, hex_id

#: Takes root's privileges away: to root nothing is read-only.
_UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


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
    code = f"{before}\nimport sys; from tracekit.commands.shell import main; main()"
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
