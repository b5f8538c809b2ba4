"""Sentences on what is reserved for the use that no container explains."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.replay.measures import RESOURCES
from tracekit.replay.workload.workload import Workload
from tracekit.units import percent

#: Background below this share of what nodes have changes no answer.
_LITTLE = 0.05


def shares(load: Workload) -> dict[str, dict[str, float]]:
    """The mean background use of each resource, and the amount reserved for it.

    Shares of what the nodes have; for the manifest.
    """
    whole = np.maximum(load.capacity[:, : len(RESOURCES)].sum(axis=0, dtype=float), 1.0)
    used = load.background.mean(axis=1, dtype=float).sum(axis=1)
    kept = whole * 0 if load.reserved is None else load.reserved[:, : len(RESOURCES)].sum(axis=0)
    return {
        "background": dict(zip(RESOURCES, (used / whole).tolist(), strict=True)),
        "reserved": dict(zip(RESOURCES, (kept / whole).tolist(), strict=True)),
    }


def background(found: Mapping[str, Any]) -> str:
    """Sentences on the use that no container explains, and on the amounts reserved for it.

    Empty where there is little such use.

    Parameters
    ----------
    found : mapping
        As ``shares`` gives it, or the part of a manifest that holds it.
    """
    kept = found.get("reserved") or {}
    used = {
        name: share for name, share in (found.get("background") or {}).items() if share >= _LITTLE
    }
    if not used:
        return ""
    said = [f"{_amounts(used)} of the nodes are in use by what no container explains."]
    held = [RESOURCES[name] for name in used if kept.get(name)]
    free = [RESOURCES[name] for name in used if not kept.get(name)]
    if held:
        said.append(f"The replay keeps {' and '.join(held)} free for it.")
    if free:
        said.append(
            f"{'It' if held else 'The replay'} keeps no {' and no '.join(free)} free for it, so"
            " policies that go by requests may overload nodes (--assume reserved=background keeps"
            " it)."
        )
    return " ".join(said)


def spread(used: Mapping[str, float]) -> str:
    """A sentence on where the use that no container explains goes when its node is removed.

    Empty where there is little such use.

    Parameters
    ----------
    used : mapping
        Of each resource the share of what the nodes have: ``background`` of ``shares``.
    """
    much = {name: share for name, share in used.items() if share >= _LITTLE}
    if not much:
        return ""
    return (
        f"{_amounts(much)} of the nodes are in use by what no container explains. That use goes"
        " on: what was on nodes that go is spread over those that stay, by what is free there."
    )


def _amounts(shares: Mapping[str, float]) -> str:
    return " and ".join(
        f"{percent(share)} of the {RESOURCES[resource]}" for resource, share in shares.items()
    )
