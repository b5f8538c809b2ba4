"""Searches for the nodes of a batch, by the fitness of TBESK."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement import UsedBy
from tracekit.policy.placement._parts.fitness import FitnessPolicy
from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.eagles import BesSearch, TbeskSearch
from tracekit.policy.search.searches import TpsoSearch, TsboSearch, TssaSearch


@dataclass(frozen=True, kw_only=True)
class Bes(SearchingPolicy, BesSearch):
    """Bald eagle search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Alsattar 2020; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "bald eagle search"


@dataclass(frozen=True, kw_only=True)
class Tbesk(SearchingPolicy, TbeskSearch):
    """Bald eagle search with tent start and t mutation for the nodes of a batch."""

    source: ClassVar[str] = (
        "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-31; its parameters are not printed"
    )
    title: ClassVar[str] = "improved bald eagle search"


@dataclass(frozen=True, kw_only=True)
class TbeskExact(FitnessPolicy):
    """Place one container after another on the node of the highest fitness of TBESK.

    No search over single containers finds a better node by this fitness. The policy is a yardstick
    and is never recommended.
    """

    source: ClassVar[str] = "fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 16-27"
    title: ClassVar[str] = "best node by the TBESK fitness"
    used_by: ClassVar[UsedBy] = "yardstick"


@dataclass(frozen=True, kw_only=True)
class Tpso(SearchingPolicy, TpsoSearch):
    """Particle swarm search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Kennedy and Eberhart 1995; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "particle swarm search"


@dataclass(frozen=True, kw_only=True)
class Tsbo(SearchingPolicy, TsboSearch):
    """Satin bowerbird search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Moosavi 2017; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "satin bowerbird search"


@dataclass(frozen=True, kw_only=True)
class Tssa(SearchingPolicy, TssaSearch):
    """Sparrow search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Xue and Shen 2020; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "sparrow search"
