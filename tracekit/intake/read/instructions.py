"""The machine instructions that compiled loops need and numba does not offer."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir

from tracekit.base.jit import Type, cgutils, intrinsic, types

F = TypeVar("F", bound=Callable[..., Any])

_instruction = cast("Callable[[F], F]", intrinsic)

_WORD = ir.IntType(64)
_DOUBLE_WORD = ir.IntType(128)


@_instruction
def load_word(_context: Any, array: Type, at: Type) -> Any:
    """Eight bytes of a uint8 array from any position, as a little-endian uint64, unchecked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = cgutils.gep_inbounds(builder, data, arguments[1])
        return builder.load(builder.bitcast(place, _WORD.as_pointer()), typ=_WORD, align=1)

    del at
    return types.uint64(array, types.int64), generate


@_instruction
def high_product(_context: Any, left: Type, right: Type) -> Any:
    """The upper 64 bits of the product of two uint64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide = [builder.zext(argument, _DOUBLE_WORD) for argument in arguments]
        shifted = builder.lshr(builder.mul(*wide), ir.Constant(_DOUBLE_WORD, 64))
        return builder.trunc(shifted, _WORD)

    del left, right
    return types.uint64(types.uint64, types.uint64), generate


@_instruction
def leading_zeros(_context: Any, word: Type) -> Any:
    """The number of leading zero bits of a uint64 that is not zero."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    del word
    return types.uint64(types.uint64), generate


@_instruction
def as_double(_context: Any, bits: Type) -> Any:
    """The float64 whose bits are those of a uint64."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    del bits
    return types.float64(types.uint64), generate
