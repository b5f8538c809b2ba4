"""The regularised incomplete beta function of scipy, called from compiled code.

It is scipy's own machine code, so that the bits are those of ``scipy.special.betainc``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from scipy.special import cython_special

from tracekit.numba_alone import get_cython_function_address, intrinsic, types

_SIGNATURE = "double (double, double, double, int"


def betainc_address() -> int | None:
    """Where the function is in memory; None where this scipy does not offer it so."""
    for name, capsule in cython_special.__pyx_capi__.items():
        if name.endswith("betainc") and _SIGNATURE in repr(capsule):
            return int(get_cython_function_address("scipy.special.cython_special", name))
    return None


@intrinsic  # type: ignore[misc]
def call_betainc(
    typing_context: Any,  # noqa: ARG001
    address: Any,  # noqa: ARG001
    alpha: Any,  # noqa: ARG001
    beta: Any,  # noqa: ARG001
    at: Any,  # noqa: ARG001
) -> Any:
    """``betainc(alpha, beta, at)`` by the address of the function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        double, flag = ir.DoubleType(), ir.IntType(32)
        kind = ir.FunctionType(double, [double, double, double, flag])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, [*arguments[1:], ir.Constant(flag, 0)])

    return types.float64(types.int64, types.float64, types.float64, types.float64), generate
