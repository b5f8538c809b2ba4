"""Kinds of recorded cases: each is a function in a module of this package; see ``CaseKind``."""

import functools
import sys

from tracekit.base import registry
from tracekit.replay.cases.case import CaseKind


@functools.cache
def all_kinds() -> dict[str, CaseKind]:
    """Every kind of case by name; the function ``sum_`` answers cases of kind ``sum``."""
    every = registry.named(sys.modules[__name__], CaseKind)
    return {name.removesuffix("_"): one for name, one in every.items()}
