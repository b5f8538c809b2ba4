"""Sparrow search for the nodes of a batch, by the fitness of TBESK."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.searches import TssaSearch


@dataclass(frozen=True, kw_only=True)
class Tssa(SearchingPolicy, TssaSearch):
    """Sparrow search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Xue and Shen 2020; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "sparrow search"
