"""Numba, independent of the working folder: nothing else imports it.

Numba takes settings from a hidden file of the current folder, when it is imported and again at each
compilation. Such a file can name the folder that compiled code is read from, and compiled code is
kept as pickles: otherwise a working folder from someone else could make numba run its code.
Variables of the environment are the user's own word and stay.
"""

import importlib
import os
import sys
import warnings
from typing import Any


def _imported() -> Any:
    """Numba, whose settings file is never read: no YAML while it starts, no name afterwards."""
    yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            # it says that it cannot read the file
            warnings.simplefilter("ignore")
            config: Any = importlib.import_module("numba.core.config")
    finally:
        del sys.modules["yaml"]
        if yaml is not None:
            sys.modules["yaml"] = yaml
    config._config_fname = ""  # noqa: SLF001 - there is no public switch
    return importlib.import_module("numba")


numba = _imported()

# only now: what is imported first has read the settings
from numba.core import cgutils, types  # noqa: E402
from numba.core.errors import NumbaError  # noqa: E402
from numba.core.types import Type, WrapperAddressProtocol  # noqa: E402
from numba.experimental import function_type as _  # noqa: E402, F401 - functions as arguments
from numba.extending import get_cython_function_address, intrinsic  # noqa: E402
from numba.np.random.generator_core import next_uint32  # noqa: E402

__all__ = [
    "NumbaError",
    "Type",
    "WrapperAddressProtocol",
    "cgutils",
    "get_cython_function_address",
    "intrinsic",
    "next_uint32",
    "numba",
    "own_cache_folder",
    "types",
]


def own_cache_folder() -> str | None:
    """The user's folder for compiled code; None where none is set."""
    return os.environ.get("NUMBA_CACHE_DIR") or None
