"""How much overload a policy may cause: what ``decision`` allows, and ``nodes`` asks for.

``nodes`` also allows hardly more on fewer nodes than the policy causes on all.
"""

import math
from collections.abc import Mapping
from typing import Any

from tracekit.replay.measures import OVERLOAD, RESOURCES
from tracekit.words import plural

#: The limit for nodes that carry the load without overload, whatever production does.
WITHOUT = f"{OVERLOAD} <= 0"
#: The use of the 99th of 100 nodes; of other resources only requests are known.
FULL = tuple(f"{name}_p99_fraction" for name in RESOURCES)
#: The highest use of any node at any time, which few node-steps of overload do not bound.
PEAK = tuple(f"{name}_max_fraction" for name in RESOURCES)
#: The most that a node may use at a peak, in times of what it has: work then takes twice as long.
TWICE = 2.0
#: Overload of this share of all node-steps ends no policy's chances by itself.
SLIGHT = 1e-4


def node_steps(load: Mapping[str, Any]) -> float:
    """In how many node-steps of a run overload could be counted; 0 where that is not known.

    Parameters
    ----------
    load : mapping
        What a manifest says of the workload. One of an earlier version has no ``settled_steps``.
    """
    return float((load.get("nodes") or 0) * (load.get("settled_steps") or load.get("steps") or 0))


def most_overload(production: float | None, node_steps: float) -> float:
    """The number of node-steps in which nodes may be overloaded.

    It is the number of production, or ``SLIGHT`` of all, whichever is more. Where production is not
    known it is 0, as nothing says then that overload is bearable.

    Parameters
    ----------
    production : float, optional
        In how many node-steps they are in production.
    node_steps : float
        Nodes times settled steps: see ``node_steps``.
    """
    if production is None:
        return 0.0
    return max(production, _slight(node_steps))


def _slight(node_steps: float) -> float:
    return float(math.floor(SLIGHT * node_steps))


def more_than_with_all(production: float | None, node_steps: float) -> float | None:
    """How many more node-steps may be overloaded on fewer nodes than on all, by one policy.

    Where production overloads often, its overload as the limit would give up all that a policy
    gains. None where production overloads in no more than ``SLIGHT``: then that alone is the limit.
    """
    slight = _slight(node_steps)
    return None if production is None or production <= slight else slight


def most_full(production: float | None) -> float:
    """How full the 99th of 100 nodes may be: within what it has, or as full as in production."""
    return 1.0 if production is None else max(1.0, production)


def most_peak(production: float | None) -> float:
    """How full any node may ever be: ``TWICE`` what it has, or as full as in production."""
    return max(TWICE, production or 0.0)


def most_of(name: str, production: float | None) -> float | None:
    """How full a node may be, by a measure of ``FULL`` or ``PEAK``; None of others."""
    known = most_full if name in FULL else most_peak if name in PEAK else None
    return None if known is None else known(production)


def limits_of(production: Mapping[str, Any] | None, node_steps: float) -> dict[str, float]:
    """The most that each measure of overload may be.

    Parameters
    ----------
    production : mapping, optional
        What production came to, by measure.
    """
    if production is None:
        return {OVERLOAD: 0.0}
    return {
        OVERLOAD: most_overload(production.get(OVERLOAD), node_steps),
        **{name: most_full(production.get(name)) for name in FULL},
        **{name: most_peak(one) for name in PEAK if (one := production.get(name)) is not None},
    }


def within(production: float | None, node_steps: float) -> str:
    """The same as the end of a sentence: while nodes ..."""
    if production is None:
        return "no node is ever overloaded"
    most = most_overload(production, node_steps)
    steps = f"{most:,.0f} {plural(most, 'node-step')}"
    if most == production:
        return f"nodes are overloaded no more often than in production ({steps})"
    return f"nodes are overloaded in at most {steps} ({SLIGHT:.2%}; production: {production:,.0f})"
