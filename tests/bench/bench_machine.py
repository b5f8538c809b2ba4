"""Which machine and which state of the code a measurement is of."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

#: Widest vectors first, by the names that Linux gives the instructions.
_VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON", "sse2": "SSE2"}


def machine() -> str:
    """The processor, its vectors, cores and memory, in one line."""
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    known = dict(_pair(line) for line in reversed(about) if ":" in line)
    flags = known.get("flags", known.get("Features", "")).split()
    vectors = next((name for flag, name in _VECTORS.items() if flag in flags), "no vectors")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    model = known.get("model name", platform.machine())
    return f"{model}, {vectors}, {os.cpu_count()} cores, {memory / 2**30:.0f} GiB"


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


def commit() -> str:
    """The commit that is checked out, and whether files differ from it."""
    here = Path(__file__).parent
    said = [_git(here, "rev-parse", "--short", "HEAD")]
    changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    return " with changes".join([*said, ""]) if changed else said[0]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or ("unknown" if arguments[0] == "rev-parse" else "")
