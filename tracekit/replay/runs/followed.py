"""Who of the policies that met one order of arrival is worth the others too."""

from __future__ import annotations

from collections.abc import Sequence

from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.runs.fitness import left_out
from tracekit.replay.runs.overload import OVERLOAD
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run

#: How many meet the other orders.
MOST = 3
#: Containers times nodes up to which they do: beyond, the slowest policies take minutes an order.
LARGEST = 200_000_000


def followed(first: Run, alone: Sequence[Entrant]) -> list[Entrant]:
    """The best of those that met one order and may be chosen by it, best first.

    They are chosen by the first of the orders that they are then judged by. Of six orders that
    makes their mean better than it is by about a quarter of its spread over orders, where many are
    chosen from; a difference has to be several times that to be told.

    Parameters
    ----------
    first : Run
        The replay of all policies in the first order.
    alone : sequence of Entrant
        Those that met no other.

    Returns
    -------
    list of Entrant
        At most ``MOST``; none where the workload is larger than ``LARGEST``.
    """
    if not alone or first.workload.containers * first.workload.nodes > LARGEST:
        return []
    found = results(first)
    barred = {name for one in left_out(found) for name in one.names}
    by = _criterion(found)
    fit = [one for one in alone if str(one) not in barred and by and found.known(str(one), by)]
    sign = 1.0 if by and found.measures[by].better == "low" else -1.0
    return sorted(fit, key=lambda one: sign * float(found.of(str(one), by).mean()))[:MOST]


def _criterion(found: Results) -> str:
    """The first measure that may answer and has a better end."""
    names = (
        one.name
        for one in found.measures.values()
        if one.group == "answer" and one.better and one.name not in {OVERLOAD, "pending"}
    )
    return next(names, "")
