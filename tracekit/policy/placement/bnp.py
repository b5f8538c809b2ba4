"""BNP: the node on which placing leaves the lowest variance of network load over nodes."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.base.arrays import IntArray
from tracekit.cluster.resources import NET
from tracekit.policy.placement._extender import ExtenderPolicy, balance_resource
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Bnp(ExtenderPolicy):
    """Balanced NetIO Priority: keep the network loads of nodes close to each other.

    If the workload lacks the network resource, or the container requests none of it, the extender
    scores every node 0 and the built-in scores decide.
    """

    source: ClassVar[str] = "Liang extender (github.com/adolphlwq/liang @56384517), BNP"
    title: ClassVar[str] = "balanced network use"
    wants: ClassVar[tuple[str, ...]] = (NET,)

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """BNP's score of each candidate, 0..100; 0 for a node without room for the request."""
        return balance_resource(NET, snapshot, container, nodes)
