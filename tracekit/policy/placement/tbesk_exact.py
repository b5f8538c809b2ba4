"""The node of the highest fitness of TBESK, by scoring all nodes instead of a search."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import UsedBy
from tracekit.policy.placement._parts.fitness import FitnessPolicy


@dataclass(frozen=True, kw_only=True)
class TbeskExact(FitnessPolicy):
    """Place one container after another on the node of the highest fitness of TBESK.

    No search over single containers finds a better node by this fitness. The policy is a yardstick
    and is never recommended.
    """

    source: ClassVar[str] = "fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 16-27"
    title: ClassVar[str] = "best node by the TBESK fitness"
    used_by: ClassVar[UsedBy] = "yardstick"
