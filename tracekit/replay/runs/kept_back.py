"""What requests know of the use that no container explains, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.replay.measures import RESOURCES
from tracekit.replay.workload.workload import Workload
from tracekit.units import percent

#: Background below this share of what nodes have changes no answer.
_LITTLE = 0.05


def shares(load: Workload) -> dict[str, dict[str, float]]:
    """Of each resource what background takes on average, and what is kept for it.

    Shares of what the nodes have; for the manifest.
    """
    whole = np.maximum(load.capacity[:, : len(RESOURCES)].sum(axis=0, dtype=float), 1.0)
    used = load.background.mean(axis=1, dtype=float).sum(axis=1)
    kept = whole * 0 if load.reserved is None else load.reserved[:, : len(RESOURCES)].sum(axis=0)
    return {
        "background": dict(zip(RESOURCES, (used / whole).tolist(), strict=True)),
        "reserved": dict(zip(RESOURCES, (kept / whole).tolist(), strict=True)),
    }


def kept_back(found: Mapping[str, Any]) -> str:
    """What of nodes is kept for the background, a clause; empty where nothing is.

    Parameters
    ----------
    found : mapping
        As ``shares`` gives it, or the part of a manifest that holds it.
    """
    kept = found.get("reserved") or {}
    told = [_amount(name, share) for name, share in kept.items() if share]
    if not told:
        return ""
    return f"{' and '.join(told)} that nodes have, for use that no container explains"


def unknown_to_requests(found: Mapping[str, Any]) -> list[str]:
    """A sentence about the background that requests do not know of; none where they do."""
    kept = found.get("reserved") or {}
    told = [
        _amount(name, share)
        for name, share in (found.get("background") or {}).items()
        if share >= _LITTLE and not kept.get(name)
    ]
    if not told:
        return []
    said = (
        f"Requests do not know of use that no container explains, {' and '.join(told)} that nodes"
        " have, so policies that go by requests may overload nodes (--assume reserved=background"
        " keeps it for it)"
    )
    return [said]


def _amount(resource: str, share: float) -> str:
    return f"{percent(share)} of the {RESOURCES[resource]}"
