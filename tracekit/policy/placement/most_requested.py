"""Most requested: the node with the least cpu and memory left, as in schedulers before 1.22."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tracekit.policy.placement import Formula, Reads, UsedBy, quotient
from tracekit.policy.placement._parts.requested import TenthsPolicy


@dataclass(frozen=True, kw_only=True)
class MostRequested(TenthsPolicy):
    """Pack requests by the integer mean of the requested tenths of cpu and memory."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests"})
    source: ClassVar[str] = (
        "kubernetes v1.17 pkg/scheduler/algorithm/priorities/most_requested.go"
        " (MostRequestedPriority)"
    )
    used_by: ClassVar[UsedBy] = "scheduler"
    aliases: ClassVar[tuple[str, ...]] = ("most_requested_legacy",)

    def score_formula(self) -> Formula:
        """The integer mean of the integer scores of cpu and memory, 0..max_score."""
        return self.of_tenths(taken_share, "fuller")


def taken_share(size: Any, wanted: Any, constants: Any) -> Any:
    """The requested share of a resource, scaled to ``constants[0]``; 0 for an over-full node."""
    return quotient(wanted * constants[0], size) * (wanted <= size)
