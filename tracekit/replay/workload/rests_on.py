"""What a replay rests on: what the store records, what ingest worked out, what is assumed."""

from __future__ import annotations

from collections.abc import Mapping

from tracekit.arrays import BoolArray, IntArray
from tracekit.store import Store
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities

ASSUMED = "assumed"
#: Of a file of the user's own, or by ``tracekit size``.
CHOSEN = "chosen"
#: Recorded, and not replayed, for an assumption says so: this and the assumption.
SET_ASIDE = "recorded, but set aside by"


def set_aside(by: str) -> str:
    """How a quantity is known that stands in the files and that an assumption does not read."""
    return f"{SET_ASIDE} {by}"


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
    """What is kept free for use that no container explains; nothing where nothing is kept."""
    return (
        {}
        if reserved is None
        else {"what is kept free for use that no container explains": INFERRED}
    )


def use_rests_on(unknown: BoolArray) -> dict[str, str]:
    """Whose use is assumed, where that of others is recorded.

    Parameters
    ----------
    unknown : bool, shape (2, containers)
        Whose use of CPU, and of memory, is not recorded.
    """
    silent, containers = unknown.all(axis=0), unknown.shape[1]
    if silent.all():
        return {"use of containers": ASSUMED}
    counts = {
        "use": int(silent.sum()),
        "CPU use": int((unknown[0] & ~silent).sum()),
        "memory use": int((unknown[1] & ~silent).sum()),
    }
    return {
        f"{what} of {count:,} of {containers:,} containers": ASSUMED
        for what, count in counts.items()
        if count
    }


def _each(quantity: str, rests: Mapping[str, str]) -> dict[str, str]:
    order = (ASSUMED, CHOSEN, INFERRED, RECORDED)
    whole = min(rests.values(), key=order.index)
    return {quantity: whole, **{f"{quantity}: {name}": kind for name, kind in rests.items()}}
