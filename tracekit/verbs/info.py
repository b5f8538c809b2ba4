"""What is in a store."""

from __future__ import annotations

from typing import Any

from tracekit.verbs._options import Store


def info(store: Store) -> dict[str, Any]:
    """What is in a store; see ``tracekit.query.describe.describe``."""
    from tracekit.query.describe import describe
    from tracekit.store import open_store

    return describe(open_store(store))
