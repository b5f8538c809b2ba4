"""Bald eagle search for the nodes of a batch, by the fitness of TBESK."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.eagles import BesSearch


@dataclass(frozen=True, kw_only=True)
class Bes(SearchingPolicy, BesSearch):
    """Bald eagle search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Alsattar 2020; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "bald eagle search"
