"""Kinds of recorded cases, each a function of a file beside this; see ``cases/case.py``."""

import functools
import sys

from tracekit.base import registry
from tracekit.replay.cases.case import CaseKind


@functools.cache
def all_kinds() -> dict[str, CaseKind]:
    """Every kind of case, by name."""
    return registry.named(sys.modules[__name__], CaseKind)
