"""Numba without settings from the current folder; all imports of numba go through this module.

Numba reads settings from a hidden file of the current folder, when it is imported and again at each
compilation. The file can name the folder of cached compiled code, which is pickled. So a folder of
another person could make numba run code. Variables of the environment stay in force.
"""

import importlib
import os
import sys
import warnings
from typing import Any


def _imported() -> Any:
    """Import numba without YAML, so that it cannot read the file, and clear the file's name."""
    yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            # numba warns that it cannot read the file
            warnings.simplefilter("ignore")
            config: Any = importlib.import_module("numba.core.config")
    finally:
        del sys.modules["yaml"]
        if yaml is not None:
            sys.modules["yaml"] = yaml
    config._config_fname = ""  # noqa: SLF001 - there is no public switch
    return importlib.import_module("numba")


numba = _imported()

# these imports must follow, because the first import of numba reads the settings
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
    """The folder for compiled code that the user set; None where none is set."""
    return os.environ.get("NUMBA_CACHE_DIR") or None
