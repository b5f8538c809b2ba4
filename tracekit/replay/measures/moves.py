"""Containers that leave their node, and why."""

from tracekit.replay.measures import Measure
from tracekit.replay.measures._common import of_moves

#: Containers that a rebalancer moved.
moves = of_moves(
    column="moves",
    title="Moves",
    meaning="containers that a rebalancer took off their node to be placed anew, over the whole"
    " run: while the cluster filled and afterwards",
    formula="number of evictions by a rebalancer, each container as often as it was evicted",
    because="each costs a pause in its service; what it buys is in the other measures",
    order=42,
)

#: Containers that a rebalancer moved before the cluster was filled.
moves_while_filling = of_moves(
    column="moves",
    during="filling",
    group="detail",
    title="Moves while filling",
    meaning="the moves that were made while the cluster filled; what they bought is in the use of"
    " nodes from then on",
    formula="number of evictions by a rebalancer before the steps over which averages are taken",
    because="each costs a pause in its service; a cluster that runs already has no such phase",
    order=43,
    compared=False,
)

#: Moves of containers that a rebalancer had moved before.
moved_again = of_moves(
    column="moved_again",
    title="Moved again",
    meaning="moves of containers that had been moved before",
    formula="moves less the containers that were moved, each counted once",
    because="a container that is moved over and over gains nothing from the moves before",
    order=44,
)

# It is the moves times a parameter of the rebalancer: 'moves' is compared for both.
#: The time of service that moves cost.
move_downtime_ms = Measure(
    title="Downtime of moves",
    meaning="time of service lost to moves: their number times what the rebalancer says one costs",
    formula="moves times the downtime of one move",
    group="detail",
    unit="ms",
    better="low",
    because="it is time in which a container does no work",
    order=46,
    of_run=lambda run: run.measured["moves"] * run.move_downtime_ms,
    compared=False,
)

#: Decisions of several schedulers that were made again.
conflicts = Measure(
    title="Conflicts of schedulers",
    meaning="decisions whose node had no room any more when they were committed, as another"
    " scheduler had filled it; they were made again",
    formula="count of decisions on a node that the true state of the cluster closes by then",
    group="detail",
    unit="decisions",
    better="low",
    because="each is a decision that has to be made twice",
    order=51,
    short="conflicts",
    of_run=lambda run: run.conflicts,
    needs="schedulers",
    compared=False,
)

#: Evictions of containers by others of higher priority.
evictions = Measure(
    title="Evictions",
    meaning="containers that one of higher priority evicted, as often as that happened",
    formula="count of evictions for a container of higher priority that fitted nowhere",
    group="detail",
    unit="containers",
    better="low",
    because="what is evicted stops, and waits until there is room",
    order=45,
    of_run=lambda run: len(run.taken_off.preempted),
    needs="rules.preemption",
)

#: Evictions that a budget of disruption did not allow.
evictions_against_budget = Measure(
    title="Evictions against a budget",
    meaning="containers that one of higher priority evicted though their budget of disruption"
    " allowed none, as no other node would do",
    formula="count of evictions for a container of higher priority that a budget did not allow",
    group="detail",
    unit="containers",
    better="low",
    because="more of a set are down at once than its owner allows",
    order=59,
    of_run=lambda run: run.taken_off.against_budget,
    needs="rules.budgets",
)

#: Containers whose node was lost under them.
evicted_by_loss = Measure(
    title="Evicted by lost nodes",
    meaning="containers that ran on a node when it was lost, and had to be placed again",
    formula="count of containers that were evicted because their node was lost",
    group="detail",
    unit="containers",
    better="low",
    because="each was down until another node had room",
    order=47,
    of_run=lambda run: len(run.taken_off.evicted),
    needs="nodes.losses",
    compared=False,
)
