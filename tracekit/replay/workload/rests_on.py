"""What a replay rests on: what the store records, what ingest worked out, what is assumed."""

from __future__ import annotations

from tracekit.store import Store
from tracekit.store.quantities import ABSENT, quantities

ASSUMED = "assumed"


def rests_on(store: Store, *needed: str) -> dict[str, str]:
    """The quantities of a store; those that are needed and absent are assumed."""
    return {
        name: ASSUMED if kind == ABSENT and name in needed else kind
        for name, kind in quantities(store).items()
    }
