"""The node of the highest fitness: what TBESK searches for, found by looking at all nodes."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import UsedBy
from tracekit.policy.placement._parts.fitness import FitnessPolicy


@dataclass(frozen=True, kw_only=True)
class TbeskExact(FitnessPolicy):
    """The fitness of TBESK without its search: the best node, one container after another.

    No search over single containers can find a better node by this fitness. It is a yardstick:
    no scheduler runs it, and it is never the policy that is recommended.
    """

    source: ClassVar[str] = "fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 16-27"
    title: ClassVar[str] = "best node by the TBESK fitness"
    used_by: ClassVar[UsedBy] = "yardstick"
