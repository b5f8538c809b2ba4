"""Measures of nodes in use, their price, moves, evictions, and containers without a node."""

from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.replay.measures import Finished, Measure, Step
from tracekit.replay.measures.sampled import NodeContents

#: Describes containers that lost their node for good: see ``engine.samples.Displaced``.
NOT_AGAIN = "did not run again before they departed or the replay ended"


def of_moves(*, column: str, **fields: Any) -> Measure:
    """Return a measure that sums the column ``column`` of moves over steps, by default over all.

    ``fields`` are the other fields of ``Measure``.
    """
    about = {"during": "whole", "group": "answer", **fields}
    return Measure(
        unit="moves",
        better="low",
        step=Step(column=column, whole=True),
        over_steps="sum",
        **about,
    )


def of_nodes_used(**fields: Any) -> Measure:
    """Return a measure of the number of nodes that hold a container other than a daemon.

    ``fields`` are the fields of ``Measure`` that say how steps are combined, and its texts.
    """
    return Measure(
        unit="nodes",
        better=None,
        step=Step(
            column="nodes_used",
            at=lambda sampled: (sampled.containers_but_daemons > 0).sum(axis=-1),
            whole=True,
        ),
        falls=True,
        because="no policy is better for merely using fewer nodes: they save only where nodes can"
        " be switched off, and the load they hold is denser",
        **fields,
    )


nodes_used_mean = of_nodes_used(
    title="Nodes used",
    meaning="nodes that hold a container, mean over time, daemons not counted. It does not say how"
    " many can go: tracekit nodes does",
    formula="number of nodes with at least one container; mean over steps",
    group="answer",
    order=14,
    over_steps="mean",
    bound="requests",
    short="nodes",
)

nodes_used_max = of_nodes_used(
    title="Nodes used at most",
    meaning="most nodes that held a container at any step, daemons not counted: the others are"
    " needed in none; who comes and goes between two steps counts in none either",
    formula="largest number of nodes with at least one container, at any step",
    order=15,
    over_steps="max",
    bound="requests",
)

nodes_used_end = of_nodes_used(
    title="Nodes used at the end",
    meaning="nodes that held a container at the last sample, daemons not counted: where a"
    " rebalancer that empties nodes arrived",
    formula="number of nodes with at least one container, at the last step",
    order=17,
    over_steps="last",
)


def _cost_per_hour(contents: NodeContents) -> FloatArray:
    prices = contents.load.nodes.prices
    assert prices is not None  # noqa: S101 - the measure needs it
    return np.asarray(np.where(contents.containers_but_daemons > 0, prices, 0.0).sum(axis=-1))


cost_per_hour = Measure(
    title="Cost of nodes in use per hour",
    meaning="prices of the nodes that hold a container, daemons not counted, mean over time; in the"
    " currency of the source",
    formula="sum of price per hour over nodes with at least one container; mean over steps",
    group="answer",
    unit="1/h",
    better=None,
    because="no policy is better for merely using cheaper nodes: they save only where the others"
    " can be switched off",
    order=16,
    step=Step(column="cost_per_hour", of_contents=_cost_per_hour),
    needs="nodes.prices",
    bound="requests",
    falls=True,
    short="cost/h",
)


# Containers that leave their node, and why.

moves = of_moves(
    column="moves",
    title="Moves",
    meaning="containers that a rebalancer took off their node to be placed anew, over the whole"
    " run: while the cluster filled and afterwards",
    formula="number of evictions by a rebalancer, each container as often as it was evicted",
    because="each costs a pause in its service; what it buys is in the other measures",
    order=42,
)

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

moved_again = of_moves(
    column="moved_again",
    title="Moved again",
    meaning="moves of containers that had been moved before",
    formula="moves less the containers that were moved, each counted once",
    because="a container that is moved over and over gains nothing from the moves before",
    order=44,
)

# not compared, because it is 'moves' times a parameter of the rebalancer
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
    of_run=lambda run: run.conflicts,
    needs="schedulers",
    compared=False,
)

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


# Containers without a node, and calls that stay on theirs.

pending = Measure(
    title="Containers left without a node",
    meaning="containers that no node had room for, at all or after they were taken off theirs",
    formula="number of containers that never got a node, or that were taken off one and"
    f" {NOT_AGAIN}",
    group="answer",
    unit="containers",
    better="low",
    because="a container without a node does no work",
    order=12,
    short="pending",
    of_run=lambda run: int((run.node < 0).sum()),
)

# not compared, because 'pending' names the policies that left containers waiting
pending_container_steps = Measure(
    title="Waiting container-steps",
    meaning="containers that waited for room, added up over the steps",
    formula="number of pairs of container and step at which it waits",
    group="detail",
    unit="container-steps",
    better="low",
    because="a container that waits does no work",
    order=13,
    step=Step(column="pending", whole=True),
    over_steps="sum",
    compared=False,
)

unplaced_after_eviction = Measure(
    title="Evicted and not placed again",
    meaning=f"containers that one of higher priority evicted, and that {NOT_AGAIN}",
    formula=f"count of containers that {NOT_AGAIN}, and that were evicted from their last node",
    group="detail",
    unit="containers",
    better="low",
    because="they ran before, and run no more",
    order=49,
    of_run=lambda run: len(run.taken_off.unplaced_after_eviction),
    needs="rules.preemption",
)

unplaced_after_loss = Measure(
    title="Without a node after a loss",
    meaning=f"containers that ran on a node when it was lost, and that {NOT_AGAIN}",
    formula=f"count of containers that {NOT_AGAIN}, and whose last node was lost under them",
    group="detail",
    unit="containers",
    better="low",
    because="each is work that the cluster no longer does",
    order=48,
    of_run=lambda run: len(run.taken_off.unplaced_after_loss),
    needs="nodes.losses",
    compared=False,
)


def _kept_calls_share(run: Finished) -> float | None:
    return None if run.load.rules.calls is None else run.load.rules.calls.kept_share(run.node)


kept_calls_share = Measure(
    title="Calls kept on a node",
    meaning="share of calls between services whose two ends share a node",
    formula="weight of calls whose two ends share a node, over the weight of all calls",
    group="answer",
    unit="0..1",
    better="high",
    because="a call that stays on its node crosses no network",
    order=38,
    of_run=_kept_calls_share,
    needs="rules.calls",
)
