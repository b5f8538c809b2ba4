"""Who was taken off a node in a replay, and who of them did not run again."""

from dataclasses import dataclass

from tracekit.base.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class TakenOff:
    """Containers that lost their node.

    Parameters
    ----------
    evicted : int64, shape (evicted,)
        Containers whose node was lost under them, at least once.
    preempted : int64, shape (evictions,)
        Containers that one of higher priority evicted, as often as that happened.
    against_budget : int
        How many of these evictions a budget of disruption did not allow.
    unplaced_after_eviction : int64, shape (unplaced,)
        Those of them that did not run again, see ``engine.displaced``.
    unplaced_after_loss : int64, shape (unplaced,)
        Those whose node was lost that did not run again.
    """

    evicted: IntArray
    preempted: IntArray
    against_budget: int
    unplaced_after_eviction: IntArray
    unplaced_after_loss: IntArray
