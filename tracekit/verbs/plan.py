"""What a computation over a store would take."""

from __future__ import annotations

from pathlib import Path

from tracekit.query import plan as plans
from tracekit.store import open_store


def plan(store: str | Path, *, engine: str | None = None) -> plans.Plan:
    """What one pass over a store would take, here and on an engine; see ``tracekit.query.plan``."""
    return plans.plan(open_store(store), engine)
