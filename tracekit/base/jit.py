"""Compiling with numba, and kernels as values that compiled code can call.

All imports of numba go through this module, because numba reads settings from a hidden file of the
current folder, when it is imported and again at each compilation. The file can name the folder of
cached compiled code, which is pickled. So a folder of another person could make numba run code.
Variables of the environment stay in force.

Numba caches compiled code on disk, and checks the function's own file for changes, although the
code of all called functions is inside. So the cache has a digest of all that code in its name.
"""

import functools
import hashlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any, TypeVar

from tracekit.base.folders import compiled_folder


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
from numba.core import cgutils as cgutils
from numba.core import types as types
from numba.core.errors import NumbaError
from numba.core.types import Type as Type
from numba.core.types import WrapperAddressProtocol as WrapperAddressProtocol
from numba.experimental import function_type as _  # noqa: F401 - functions as arguments
from numba.extending import get_cython_function_address as get_cython_function_address
from numba.extending import intrinsic as intrinsic
from numba.np.random.generator_core import next_uint32 as next_uint32

F = TypeVar("F", bound=Callable[..., Any])

B2 = types.Array(types.boolean, 2, "C")
I1 = types.Array(types.int64, 1, "C")
I2 = types.Array(types.int64, 2, "C")
_I3 = types.Array(types.int64, 3, "C")
F1 = types.Array(types.float64, 1, "C")
F2 = types.Array(types.float64, 2, "C")
F3 = types.Array(types.float64, 3, "C")

#: state, positions, how many, terms, amounts, parameters, scores (out)
SCORE = types.void(_I3, I1, types.int64, F2, I2, F1, F1)

#: boxes, ranges of views, how many, first positions, amounts, parameters, bounds (out)
BOUND = types.void(_I3, F3, types.int64, I1, I2, F1, F1)

#: terms, state, node, amounts, parameters
PLACED = types.void(F2, _I3, types.int64, I2, F1)


def compiled(function: F) -> F:
    """Compile the function on its first call for each type of arguments. Cache the code on disk."""
    made: F = _cached(function, no_cfunc_wrapper=True)
    return made


def compiled_for(*arguments: Any) -> Callable[[F], F]:
    """Compile the function for these argument types when it is defined. Cache the code on disk."""
    return lambda function: _cached(function, types.void(*arguments))


def inlined(function: Callable[..., Any]) -> Any:
    """Compile the function for inlining into each compiled function that calls it."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


def compiled_in_any_order(function: F) -> F:
    """Compile as ``compiled`` does, and let sums be computed in any order.

    The code is faster, but its results may differ in the last digit. Values must not be NaN.
    """
    made: F = _cached(function, fastmath={"reassoc", "nnan", "nsz"})
    return made


def _cached(function: Callable[..., Any], *signature: Any, **options: Any) -> Any:
    folder = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR") or str(compiled_folder())
    try:
        make = numba.njit(*signature, cache=True, nogil=True, error_model="numpy", **options)
        made = make(function)
    finally:
        numba.config.CACHE_DIR = folder
    return made


class NotCompiledError(Exception):
    """The error for a function that numba cannot compile. Its text is the reason in one line."""


def _reason(error: NumbaError) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    return reasons[0] if reasons else type(error).__name__


def with_functions(
    function: FunctionType,
    named: Mapping[str, Any],
    instead: Mapping[FunctionType, FunctionType],
) -> FunctionType:
    """Return a copy of a function in which the plain Python functions that it calls are compiled.

    The name of the copy ends in a digest of the code of all called functions. So numba's cache
    never serves code that was compiled from other versions of these functions.

    Parameters
    ----------
    named : mapping of str to function
        Functions to use for global names in ``function``, plain or compiled.
    instead : mapping of function to function
        What replaces a plain function wherever it is called, also inside called functions.
    """
    names: dict[str, Any] = dict(function.__globals__)
    code = [function.__qualname__, repr(function.__defaults__), *_texts(function.__code__)]
    for name in function.__code__.co_names:
        value: Any = named.get(name, names.get(name))
        if isinstance(value, FunctionType):
            names[name] = inside = _inside(value, tuple(instead.items()))
            code.append(inside.py_func.__qualname__)
        elif hasattr(value, "py_func"):
            names[name] = value
            code += [value.py_func.__qualname__, *_texts(value.py_func.__code__)]
        elif isinstance(value, int | float | tuple):
            code.append(repr(value))
    digest = hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__qualname__, copy.__module__ = f"{function.__name__}_{digest}", function.__module__
    return copy


@functools.cache
def _inside(function: FunctionType, instead: tuple[tuple[FunctionType, FunctionType], ...]) -> Any:
    """A compiled version of a plain function, for calls by compiled code only; compiled once."""
    replaced = dict(instead)
    plain = with_functions(replaced.get(function, function), {}, replaced)
    # without wrappers for calls from Python and C, which take long to compile
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(nogil=True, error_model="numpy", **options)(plain)


def _texts(code: CodeType) -> list[str]:
    """The code of a function as texts that are equal in every process."""
    inner = [code_ for code_ in code.co_consts if isinstance(code_, CodeType)]
    plain = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
    texts = [code.co_code.hex(), *code.co_names, *code.co_varnames, *plain]
    return texts + [text for one in inner for text in _texts(one)]


class Pointer(WrapperAddressProtocol):  # type: ignore[misc]
    """A function compiled for one signature, to be passed to compiled code as an argument.

    Compiled code that takes it need not be compiled again for another function of that signature.
    """

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._signature = signature
        try:
            self._compiled = _cached(function, signature, no_cpython_wrapper=True)
        except NumbaError as error:
            raise NotCompiledError(_reason(error)) from error
        result = self._compiled.get_compile_result(signature)
        self._address = result.library.get_pointer_to_function(
            result.fndesc.llvm_cfunc_wrapper_name
        )

    @property
    def function(self) -> Any:
        """The compiled function itself, which other compiled code can inline."""
        return self._compiled

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        """Return the signature; numba asks for it."""
        return self._signature


class Direct:
    """A compiled function whose calls all have arguments of the same types.

    Numba looks up the types of all arguments at every call. That is slow if some arguments are
    functions, so this class caches the first look-up.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Any = function
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the function and return its result."""
        if self._entry is not None:
            return self._entry(*arguments)
        result = self._function(*arguments)
        kinds = tuple(numba.typeof(argument) for argument in arguments)
        self._entry = self._function.overloads[kinds].entry_point
        return result
