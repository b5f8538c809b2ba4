"""TBESK: bald eagle search with tent start and t mutation for the nodes of a batch."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.placement._parts.searching import SearchingPolicy
from tracekit.policy.search.eagles import TbeskSearch


@dataclass(frozen=True, kw_only=True)
class Tbesk(SearchingPolicy, TbeskSearch):
    """Bald eagle search with tent start and t mutation for the nodes of a batch."""

    source: ClassVar[str] = (
        "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-31; its parameters are not printed"
    )
    title: ClassVar[str] = "improved bald eagle search"
