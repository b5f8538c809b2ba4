"""TBESK: bald eagle search with a tent start and mutation by Student's t."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.search.flock import Start
from tracekit.policy.search.searches._eagles import EagleSearch, Stage, Swoop


@dataclass(frozen=True, kw_only=True)
class TbeskSearch(EagleSearch):
    """Bald eagle search as Geng and Wang change it."""

    search_source: ClassVar[str] = "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-15, 28-31"

    swoop: Swoop = "source"
    start: Start = "tent"
    mutation: Stage = "select"
