"""What is in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.verbs._options import Store

if TYPE_CHECKING:
    from tracekit.store.query.describe import StoreInfo


def info(store: Store) -> StoreInfo:
    """What is in a store; see ``tracekit.store.query.describe.describe``.

    Its catalog is made anew where the store was moved or copied.
    """
    from tracekit.store.catalog import mend_moved_catalog
    from tracekit.store.folder import open_store
    from tracekit.store.query.describe import describe

    opened = open_store(store)
    mend_moved_catalog(opened)
    return describe(opened)
