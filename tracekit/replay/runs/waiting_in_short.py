"""Who waits, on a terminal: a few kinds of containers of a few policies, and where the rest is."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.replay.runs.waiting import TOLD, alike_policies, waiting_told
from tracekit.words import counted


def waiting_in_short(policies: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    """As ``waiting_told``, in three kinds of containers in all, the fewest that wait first.

    ``where`` says where all of it is, a clause, which follows if something is left out.
    """
    waits = [one for one in policies if one.get("waiting")]
    waits.sort(key=lambda one: one["waiting"]["containers"])
    ways = alike_policies(waits, TOLD)
    if len(ways) < 2:
        return waiting_told(waits)
    names = [name for _, some in ways[TOLD:] for name in some]
    others = f"{counted(len(names), 'more policy')} left containers waiting, too; " if names else ""
    told = waiting_told(waits, kinds=1)[:TOLD]
    return [*told, f"{others}more kinds that wait, and why: {where}"]
