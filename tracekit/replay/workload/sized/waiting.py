"""Who waited for a node in production to the end of a list of what runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.replay.workload.sized.tables import Sizes
from tracekit.replay.workload.sized.times import Lives
from tracekit.store import Store

#: The source whose lists say of every pod whether it has a node.
_SAYS_SO = "kubernetes"
#: Where this share waits, they are what is to be placed.
_MANY = 0.5
_NAMED = 3


def without_waiting(
    store: Store, found: Sizes, life: Lives, assumptions: SizedAssumptions
) -> tuple[Lives, tuple[str, ...]]:
    """The lives without those who waited in production all the time, and a sentence on them.

    What production could not place is load that production did not carry. A policy that places it
    instead of others, or leaves it waiting too, would compare with nothing.
    """
    rows = found.containers[life.order]
    waits = (rows["node"].is_null() & rows["departure_ms"].is_null()).to_numpy()
    if not waits.any():
        return life, ()
    names = rows["container"].to_numpy()[waits]
    if _left_out(store, float(waits.mean()), assumptions):
        return life.taken(np.flatnonzero(~waits)), (_told(names, left_out=True),)
    return life, (_told(names, left_out=False),) if _says_so(store) else ()


def _told(names: npt.NDArray[np.object_], *, left_out: bool) -> str:
    """Who waited in production, and what becomes of them."""
    one = len(names) == 1
    it = "it" if one else "them"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    waited = (
        f"{len(names):,} container{'' if one else 's'} waited for a node in production to the end:"
        f" {', '.join(names[:_NAMED].tolist())}{more}"
    )
    if left_out:
        return (
            f"{waited}; {'it is' if one else 'they are'} left out, so that every policy carries"
            f" what production carried (--assume waiting=place has {it} placed)"
        )
    return (
        f"{waited}; policies are asked to place {it}, which production did not"
        f" (--assume waiting=leave_out leaves {it} out)"
    )


def _left_out(store: Store, share: float, assumptions: SizedAssumptions) -> bool:
    if assumptions.waiting != "auto":
        return assumptions.waiting == "leave_out"
    return _says_so(store) and assumptions.start == "empty" and share < _MANY


def _says_so(store: Store) -> bool:
    return any(entry.release == _SAYS_SO for entry in store.manifest.parts("container"))
