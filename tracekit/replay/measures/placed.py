"""Containers without a node, and calls that stay on theirs."""

from tracekit.replay.measures import Finished, Measure, Step
from tracekit.replay.measures._common import NOT_AGAIN

#: Containers that found no node, or no other after theirs was taken.
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

# Who left containers waiting carries less load and is not compared: 'pending' says who.
#: How long containers waited, in steps.
pending_container_steps = Measure(
    title="Waiting container-steps",
    meaning="containers that waited for room, added up over the steps",
    formula="number of pairs of container and step at which it waits",
    group="detail",
    unit="container-steps",
    better="low",
    because="a container that waits does no work",
    order=13,
    short="wait steps",
    step=Step(column="pending", whole=True, drawn="Containers waiting [containers]"),
    over_steps="sum",
    compared=False,
)

#: Containers that were evicted for others and found no other node.
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

#: Containers that lost their node and found no other.
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


#: The share of calls that stay on a node.
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
