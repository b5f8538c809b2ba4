"""What a replay rests on: what the store records, what ingest worked out, what is assumed."""

from __future__ import annotations

from collections.abc import Mapping

from tracekit.arrays import IntArray
from tracekit.store import Store
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities

ASSUMED = "assumed"
#: Of a file of the user's own, or by ``tracekit size``.
CHOSEN = "chosen"


def rests_on(store: Store, *needed: str) -> dict[str, str]:
    """The quantities of a store; those that are needed and absent are assumed."""
    return {
        name: ASSUMED if kind == ABSENT and name in needed else kind
        for name, kind in quantities(store).items()
    }


def requests_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """What requests rest on: of all resources together the least known, and of each."""
    return _each("requests", rests)


def nodes_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """What the sizes of nodes rest on, likewise."""
    return _each("node sizes", rests)


def reserved_rests_on(reserved: IntArray | None) -> dict[str, str]:
    """What is kept for the background rests on its recorded use; nothing where nothing is kept."""
    return {} if reserved is None else {"reserved for the background": INFERRED}


def _each(quantity: str, rests: Mapping[str, str]) -> dict[str, str]:
    order = (ASSUMED, CHOSEN, INFERRED, RECORDED)
    whole = min(rests.values(), key=order.index)
    return {quantity: whole, **{f"{quantity}: {name}": kind for name, kind in rests.items()}}
