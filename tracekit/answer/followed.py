"""Chooses policies for further orders of arrival, from their result in the first."""

from collections.abc import Sequence

from tracekit.answer.admissible import barred_for_good
from tracekit.answer.intervals import COMPARED
from tracekit.policy.entrant import Entrant, halves
from tracekit.policy.placement.interference import Interference
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run

#: How many meet the other orders of a larger workload.
MOST = 3
#: Containers times nodes up to which all of them do whom the first order does not bar for good: a
#: few seconds each.
SMALL = 1_000_000
#: Those that follow may change the measure that decides. Then the best by the new one follow too.
ROUNDS = 2
#: Containers times nodes up to which they do: beyond, policies that search take minutes an order.
LARGEST = 200_000_000
#: The same for those that score nodes: half a minute of a processor where it is the whole trace.
LARGEST_SCORED = 2_000_000_000


def followed(run: Run, alone: Sequence[Entrant], met: Sequence[str] = ()) -> list[Entrant]:
    """The best of those that met one order and may be chosen by it, best first.

    A workload no larger than ``SMALL`` gives all that the order does not bar for good, so that
    every policy of the run is judged. A larger one gives the best by the measure that decides.

    The order that chooses them is one of the orders that judge them. Where many are chosen from,
    that makes a mean over six orders look better, by about a quarter of its spread over orders. A
    difference is told only where it is several times as large.

    Parameters
    ----------
    run : Run
        The replay of all policies in the first order, and of some in the others.
    alone : sequence of Entrant
        Those that were to meet no other.
    met : sequence of str
        Those of them that met the others by now, as they followed already.

    Returns
    -------
    list of Entrant
        At most ``MOST`` for a workload beyond ``SMALL``; beyond ``LARGEST`` no
        slow ones, and none a second time; beyond ``LARGEST_SCORED`` none at all.
    """
    size = run.workload.containers * run.workload.nodes
    quick = [one for one in alone if not _slow(one)]
    among = alone if size <= LARGEST else quick if size <= LARGEST_SCORED else []
    if not among or (met and size > LARGEST):
        return []
    replays = results(run)
    if size <= SMALL:
        left = [one for one in among if not barred_for_good(replays, str(one))]
        return [one for one in left if str(one) not in met]
    by_name = {str(one): one for one in among if not barred_for_good(replays, str(one))}
    by = next((one for one in COMPARED if one in replays.measures), "")
    best = _ranked(replays, by, list(by_name))[:MOST] if by else []
    return [by_name[name] for name in best if name not in met]


def _slow(one: Entrant) -> bool:
    """Whether its decisions take far longer than to score nodes: a search, or every neighbour."""
    policy = halves(one)[0]
    return policy.batched or isinstance(policy, Interference)


def _ranked(replays: Results, by: str, names: Sequence[str]) -> list[str]:
    """The policies by their first order, best first."""
    sign = 1.0 if replays.measures[by].first == "low" else -1.0
    known = [name for name in names if replays.has_value(name, by)]
    return sorted(known, key=lambda name: sign * float(replays.of(name, by)[0]))
