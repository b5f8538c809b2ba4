"""What a computation over a store would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.verbs._options import Engine, Store

if TYPE_CHECKING:
    from tracekit.query.plan import Plan


def estimate(store: Store, *, engine: Engine = None) -> Plan:
    """What one pass over a store would take, here and on an engine; see ``tracekit.query.plan``."""
    from tracekit.query import plan as plans
    from tracekit.store import open_store

    return plans.plan(open_store(store), engine)
