"""TBESK: bald eagle search with a tent start and mutation by Student's t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tracekit.parameters import About
from tracekit.replay.optimize.searches._eagles import EagleSearch, Swoop
from tracekit.replay.optimize.start import Start


@dataclass(frozen=True, kw_only=True)
class TbeskSearch(EagleSearch):
    """Bald eagle search as Geng and Wang change it."""

    search_source: ClassVar[str] = "Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 3-15, 28-31"

    swoop: Annotated[
        Swoop, About("Of Alsattar 2020, or as Geng and Wang 2023 print it (source).")
    ] = "source"
    start: Annotated[Start, About("First positions: uniform, or by the tent map.")] = "tent"
    mutation: Annotated[
        Literal["none", "select", "search"], About("After which stage all mutate by Student's t.")
    ] = "select"
