"""What is in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracekit.query.describe import describe
from tracekit.store import open_store


def info(store: str | Path) -> dict[str, Any]:
    """What is in a store; see ``tracekit.query.describe.describe``."""
    return describe(open_store(store))
