"""What is in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.verbs._options import Store

if TYPE_CHECKING:
    from tracekit.query.describe import StoreInfo


def info(store: Store) -> StoreInfo:
    """What is in a store; see ``tracekit.query.describe.describe``."""
    from tracekit.query.describe import describe
    from tracekit.store import open_store

    return describe(open_store(store))
