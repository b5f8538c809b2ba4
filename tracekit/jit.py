"""Compiling: numba behind a typed front, and kernels as values that compiled code can call.

Numba keeps compiled code on disk and looks for changes in the function's own file alone, although
the code of every function it calls is inside. So it is kept under a digest of all that code.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.core.types import WrapperAddressProtocol

F = TypeVar("F", bound=Callable[..., Any])

#: Where compiled functions are written.
_ROOMS = (
    "binding",
    "ingest",
    "read",
    "replay/fast",
    "replay/placement",
    "replay/workload",
    "sizing",
)

_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_I3 = types.Array(types.int64, 3, "C")
_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C")

#: state, positions, how many, terms, ask, parameters, scores (out)
SCORE = types.void(_I3, _I1, types.int64, _F2, _I2, _F1, _F1)

#: boxes, ranges of views, how many, first positions, ask, parameters, bounds (out)
BOUND = types.void(_I3, _F3, types.int64, _I1, _I2, _F1, _F1)

#: terms, state, node, ask, parameters
PLACED = types.void(_F2, _I3, types.int64, _I2, _F1)


def compiled(function: F) -> F:
    """The function compiled on its first call for each type of arguments; kept on disk."""
    made: F = _kept(function)
    return made


def compiled_for(*arguments: Any) -> Callable[[F], F]:
    """The function compiled for arguments of these types, where no call would tell them all."""
    return lambda function: _kept(function, types.void(*arguments))


def compiled_in_any_order(function: F) -> F:
    """As ``compiled``, but sums may be taken in any order: quicker, and other in the last digit.

    For numbers that are no NaN.
    """
    made: F = _kept(function, fastmath={"reassoc", "nnan", "nsz"})
    return made


def _kept(function: Callable[..., Any], *signature: Any, **options: Any) -> Any:
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = given or str(_folder())
    try:
        make = numba.njit(*signature, cache=True, nogil=True, error_model="numpy", **options)
        made = make(function)
    finally:
        numba.config.CACHE_DIR = given
    return made


@functools.cache
def _folder() -> Path:
    """Where compiled code of exactly these sources is kept; the user's cache if need be."""
    here = Path(__file__).parent
    sources = sorted(path for room in _ROOMS for path in (here / room).rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracekit"
    for parent in (here / "__pycache__", user):
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(parent, os.W_OK):
            return parent / f"compiled-{digest}"
    return Path(tempfile.gettempdir()) / f"tracekit-compiled-{digest}"


class Pointer(WrapperAddressProtocol):  # type: ignore[misc]
    """A function compiled for one signature, to be handed to compiled code as an argument.

    One compiled engine then serves every kernel, and what is kept on disk stays valid.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._signature = signature
        self._compiled = _kept(function, signature)
        result = self._compiled.get_compile_result(signature)
        self._address = result.library.get_pointer_to_function(
            result.fndesc.llvm_cfunc_wrapper_name
        )

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        """The type of the function, as numba asks for it."""
        return self._signature


class Direct:
    """A compiled function for arguments of the types that its first call had, and no others.

    Numba looks up the types of all arguments at every call, which takes a kernel's worth of time
    where functions are among them; this keeps what the first look-up found.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Any = function
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        if self._entry is not None:
            return self._entry(*arguments)
        result = self._function(*arguments)
        kinds = tuple(numba.typeof(argument) for argument in arguments)
        self._entry = self._function.overloads[kinds].entry_point
        return result
