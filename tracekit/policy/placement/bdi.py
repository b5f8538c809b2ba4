"""BDI: the node on which placing leaves the lowest variance of disk load over nodes."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.base.arrays import IntArray
from tracekit.cluster.resources import DISK_IO
from tracekit.policy.placement._extender import ExtenderPolicy, balance_resource
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Bdi(ExtenderPolicy):
    """Balanced disk IO: the rule of bnp, by disk transfer rates in place of the network.

    Modelled on the policy of that name, whose formulas are not published.
    """

    source: ClassVar[str] = "inspired by 'balanced disk IO' as cited by Geng and Wang 2023, ref. 6"
    title: ClassVar[str] = "balanced disk use"
    wants: ClassVar[tuple[str, ...]] = (DISK_IO,)

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """The score of bnp on disk IO, 0..100."""
        return balance_resource(DISK_IO, snapshot, container, nodes)
