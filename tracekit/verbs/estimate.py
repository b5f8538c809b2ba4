"""What a computation over a store would take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.verbs._options import Engine, Store

if TYPE_CHECKING:
    from tracekit.store.query.plan import Plan


def estimate(store: Store, *, engine: Engine = None) -> Plan:
    """What one pass over a store takes, here and on an engine; see ``store.query.plan``."""
    from tracekit.store.folder import open_store
    from tracekit.store.query import plan as plans

    return plans.plan(open_store(store), engine)
