"""BES: bald eagle search as published in 2020."""

from dataclasses import dataclass
from typing import ClassVar

from tracekit.policy.search.searches._eagles import EagleSearch


@dataclass(frozen=True, kw_only=True)
class BesSearch(EagleSearch):
    """Bald eagle search: uniform start, its own swoop, no mutation."""

    search_source: ClassVar[str] = (
        "Alsattar, Zaidan and Zaidan, Artificial Intelligence Review 53 (2020); all eagles move"
        " at once, and each looks at the next after one shuffle, not one shuffle an eagle"
    )
