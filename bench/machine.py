"""What a bench ran on: processor, vector width, and what compiled code is made for.

``python bench/machine.py`` prints it. Rates of compiled loops depend on the width of the
processor's vectors; ``as_avx2()`` gives the environment in which a process behaves as one that has
AVX2 and nothing wider would, in compiled code and in numpy alike.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: A processor with AVX2, FMA and BMI, without AVX-512.
AVX2_PROCESSOR = "haswell"


def machine() -> str:
    """One line: processor, cores, vector width of the processor and of compiled code, commit."""
    return (
        f"{processor()}, {os.cpu_count()} cores, {processor_vectors()};"
        f" compiled code: {compiled_vectors()}; commit {commit()}"
    )


def processor() -> str:
    """The name the processor gives itself."""
    found = re.search(r"^model name\s*:\s*(.+)$", _cpuinfo(), flags=re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def processor_vectors() -> str:
    """The widest vectors that the processor says it has."""
    flags = re.search(r"^flags\s*:(.+)$", _cpuinfo(), flags=re.MULTILINE)
    return widest(flags.group(1).split() if flags else [])


def compiled_vectors() -> str:
    """The widest vectors that numba compiles for in this process."""
    from llvmlite import binding  # noqa: PLC0415 - slow to import, and few benches compile
    from numba import config as known  # noqa: PLC0415 - same

    config: Any = known
    if config.CPU_NAME == AVX2_PROCESSOR and config.CPU_FEATURES == "":
        return f"AVX2, 256 bits, as {AVX2_PROCESSOR}"
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return f"as {config.CPU_NAME} with '{config.CPU_FEATURES}'"
    return widest([name for name, there in binding.get_host_cpu_features().items() if there])


def widest(flags: list[str]) -> str:
    """The widest vectors among these flags."""
    for flag, name in (("avx512f", "AVX-512, 512 bits"), ("avx2", "AVX2, 256 bits")):
        if flag in flags:
            return name
    return "128 bits or less"


def as_avx2(cache: Path) -> dict[str, str]:
    """An environment without wider vectors; code compiled in it is kept apart, in ``cache``."""
    return {
        **os.environ,
        "NUMBA_CPU_NAME": AVX2_PROCESSOR,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(cache),
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_wider()),
    }


def numpy_wider() -> list[str]:
    """What numpy would choose between at run time and is wider than AVX2."""
    core: Any = import_module("numpy._core._multiarray_umath")
    there, kinds = core.__cpu_features__, core.__cpu_dispatch__
    return [name for name in kinds if there.get(name) and ("AVX512" in name or name == "X86_V4")]


def commit() -> str:
    """The commit of the source, with a plus where files differ from it."""
    git = ("git", "-C", str(ROOT))
    try:
        name = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True).strip()
        changed = subprocess.check_output([*git, "status", "--porcelain", "-uno"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+" if changed.strip() else "")


def _cpuinfo() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    print(machine())
