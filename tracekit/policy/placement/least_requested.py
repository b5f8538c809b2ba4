"""Least requested: the node with the most cpu and memory left, as in schedulers before 1.22."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import Formula, Reads, UsedBy
from tracekit.policy.placement._parts.requested import TenthsPolicy, free_share


@dataclass(frozen=True, kw_only=True)
class LeastRequested(TenthsPolicy):
    """Spread requests by the integer mean of the free tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/least_requested.go"
        " (LeastRequestedPriority)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("least_requested_legacy",)

    def score_formula(self) -> Formula:
        """The integer mean of the integer scores of cpu and memory, 0..max_score."""
        return self.of_tenths(free_share, "emptier")
