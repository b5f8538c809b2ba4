"""Importing what the extra ``rl`` brings, or saying how to get it."""

import importlib
from typing import Any

from tracekit.base.errors import TracekitError

#: The default build of torch on Linux brings gigabytes of libraries for GPUs; this one does not.
CPU_ONLY = "uv pip install torch --torch-backend=cpu"


def require(module: str, what: str) -> Any:
    """The module; raises TracekitError that says what needs it and what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise TracekitError(
            f"{what} needs {module}, which is not installed; the other policies work without",
            hint=f"pip install 'tracekit[rl]'; on Linux without a GPU before that: {CPU_ONLY}",
        ) from None
