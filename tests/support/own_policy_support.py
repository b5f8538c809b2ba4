"""The text of a file with a policy of one's own."""

OWN = '''"""The emptiest node."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.base.parameters import About
from tracekit.policy.placement import PlacementPolicy


@dataclass(frozen=True, kw_only=True)
class Mine(PlacementPolicy):
    """Prefer the node with the most left."""

    reads: ClassVar = frozenset({"requests"})
    source: ClassVar = "our own"
    weight: Annotated[float, About("Weight of memory.", minimum=0)] = 1.0

    def score(self, snapshot, container, nodes):
        left = snapshot.allocatable[nodes] - snapshot.requested[nodes]
        return left[:, 0] + self.weight * left[:, 1] / 2**20
'''
