"""Particle swarm search for the nodes of a batch, by the fitness of TBESK."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.searches import TpsoSearch


@dataclass(frozen=True, kw_only=True)
class Tpso(SearchingPolicy, TpsoSearch):
    """Particle swarm search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Kennedy and Eberhart 1995; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "particle swarm search"
