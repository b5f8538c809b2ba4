"""Formulas of policies inside kernels: what compiled code calls for the functions of arrays."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from tracekit.jit import with_functions
from tracekit.replay.fast.kernels import _rounding
from tracekit.replay.placement import _integers
from tracekit.replay.placement._formula import NUMBERS, quotient


def _quotient(top: float, bottom: float) -> Any:
    """As ``quotient``, exact in doubles for whole numbers below 2**53."""
    return np.floor(top / max(bottom, 1))


#: Functions of numbers by the functions of arrays that they stand for in compiled code.
INSTEAD: Any = {
    **NUMBERS,
    quotient: _quotient,
    _integers.half_away: _rounding.half_away,
}


def inside(function: Any, **named: Any) -> FunctionType:
    """A kernel, to be compiled with the plain functions that it calls, and those they call.

    Parameters
    ----------
    named : functions
        By the name in the kernel's module that each takes the place of.
    """
    return with_functions(function, named, INSTEAD)
