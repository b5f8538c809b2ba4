"""Satin bowerbird search for the nodes of a batch, by the fitness of TBESK."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.searches import TsboSearch


@dataclass(frozen=True, kw_only=True)
class Tsbo(SearchingPolicy, TsboSearch):
    """Satin bowerbird search for the nodes of a batch, by the fitness of TBESK."""

    source: ClassVar[str] = (
        "search: Moosavi 2017; fitness: Geng and Wang, C.S.A. 2023 32(4) 187-196"
    )
    title: ClassVar[str] = "satin bowerbird search"
