"""Kinds of recorded cases, each a function of a file beside this; see ``cases/case.py``."""

import functools
import sys

from tracekit.base import registry
from tracekit.replay.cases.case import CaseKind


@functools.cache
def all_kinds() -> dict[str, CaseKind]:
    """Every kind of case, by name; ``sum_`` answers cases of kind ``sum``."""
    every = registry.named(sys.modules[__name__], CaseKind)
    return {name.removesuffix("_"): one for name, one in every.items()}
