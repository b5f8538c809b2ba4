"""Whether more orders of arrival may tell what those that policies met do not.

Of eight policies over six orders the best has to be ahead by some ten standard deviations of one
order to be told from all others in 94 of 100 runs; by four it is told in none. With a second look
after twelve orders, each look at half of what may go wrong, it is told in 96 of 100 at four (see
docs/benchmarks/chance.txt). All that met the first orders meet the others too, so that every
comparison is over the same orders and none is picked by what it showed.
"""

from __future__ import annotations

from tracekit.replay.runs.decision import decision
from tracekit.replay.runs.may_answer import may_be_chosen
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run
from tracekit.replay.runs.student import FEWEST


def undecided(run: Results | Run) -> bool:
    """Whether it is open which policy is best, among those that may be chosen and met enough."""
    found = results(run)
    judged = [names for names in may_be_chosen(found) if found.orders(names[0]) >= FEWEST]
    chosen = set(decision(found).chosen)
    return bool(judged) and sum(not chosen.isdisjoint(names) for names in judged) != 1


def added(met: int, up_to: int) -> str:
    """What is done about it, a line."""
    return (
        f"{met} orders of arrival leave open which policy is best: {up_to - met} more, so that it"
        " is looked twice, each time at half of what may go wrong"
    )
