"""Kinds of recorded cases, one per file beside this; the interface is ``cases/question.py``."""

from __future__ import annotations

import functools
import sys

from tracekit import registry
from tracekit.replay.cases.question import CaseKind


@functools.cache
def all_kinds() -> dict[str, CaseKind]:
    """Every kind of case, by name."""
    return registry.instances(sys.modules[__name__], CaseKind)
