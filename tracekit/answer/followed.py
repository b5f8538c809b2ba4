"""Chooses policies for further orders of arrival, by what they came to in those they met."""

from collections.abc import Mapping, Sequence

from tracekit.answer.admissible import barred_for_good
from tracekit.answer.intervals import COMPARED
from tracekit.base.arrays import FloatArray
from tracekit.policy.entrant import Entrant
from tracekit.policy.placement.interference import Interference
from tracekit.replay.measures import NODES
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run

#: After so many orders of arrival it is looked who may still be recommended.
LOOKS = (1, 3)
#: So many that used the fewest nodes in the first order go on in any case: nodes are counted for
#: them.
FEWEST_USED = 2
#: Containers times nodes up to which policies go on that search, which take minutes an order.
LARGEST = 200_000_000
#: The same for those that score nodes: half a minute of a processor where it is the whole trace;
#: and for counts of nodes: minutes, in one order of arrival.
LARGEST_ONCE = 2_000_000_000


def followed(run: Run, going: Sequence[Entrant], rivals: Sequence[str]) -> list[Entrant]:
    """Those that may still be recommended, and so meet more orders of arrival.

    The others are given up: ``may_win`` says when. That is a group sequential design that stops for
    futility alone, without a bound that has to be kept to (Jennison and Turnbull, Group Sequential
    Methods, 2000, section 4.6): nothing is told before the last look, so that giving up can only
    make fewer things be told; and who is given up stays in the family of comparisons
    (``chance.holm``), so that those who are left are held to the same level as before.

    Parameters
    ----------
    run : Run
        The replays up to now.
    going : sequence of Entrant
        Those that met all orders up to now.
    rivals : sequence of str
        The policies that one has to beat to be recommended; they meet all orders.
    """
    size = run.workload.containers.count * run.workload.nodes.count
    quick = [one for one in going if not _slow(one)]
    among = going if size <= LARGEST else quick if size <= LARGEST_ONCE else []
    replays = results(run)
    left = {str(one): one for one in among if not barred_for_good(replays, str(one))}
    by = next((one for one in COMPARED if one in replays.measures), "")
    if not by:
        return list(left.values())
    known = {name: replays.of(name, by) for name in replays.policies if replays.has_value(name, by)}
    low = replays.measures[by].first == "low"
    beaten = [name for name in rivals if name in known]
    keep = {*may_win(known, list(left), beaten, low=low), *_fewest_used(replays, list(left))}
    return [one for name, one in left.items() if name in keep]


def may_win(
    values: Mapping[str, FloatArray], names: Sequence[str], rivals: Sequence[str], *, low: bool
) -> list[str]:
    """Those whose mean is better than that of each rival, over the orders that both met.

    Parameters
    ----------
    values : mapping of str to float64, shape (orders,)
        The measure that decides, order by order.
    low : bool
        Whether less is better.
    """
    sign = 1.0 if low else -1.0
    return [
        name
        for name in names
        if name in values
        and all(
            sign * float((values[name] - values[other][: len(values[name])]).mean()) < 0
            for other in rivals
        )
    ]


def _fewest_used(replays: Results, names: Sequence[str]) -> list[str]:
    known = [name for name in names if replays.has_value(name, NODES)]
    return sorted(known, key=lambda name: float(replays.of(name, NODES)[0]))[:FEWEST_USED]


def _slow(one: Entrant) -> bool:
    """Whether its decisions take far longer than to score nodes: a search, or every neighbour."""
    policy = one.placement
    return policy.batched or isinstance(policy, Interference)
