"""Several schedulers of one policy, each of which places on a view of its own.

Spelled behind a policy: ``default_scheduler+schedulers[number=2,cache_age_ms=10000]``. Containers
go to the schedulers in turn, in the order of arrival. A scheduler takes a view of the cluster at
each multiple of the age, those of several schedulers spread evenly over it; in between it learns of
its own decisions alone. Where the node that it chose has no room when the decision is committed,
that is a conflict: the scheduler takes a new view and decides again. So it does where its view has
no node at all.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from tracekit.base import parameters
from tracekit.base.parameters import About
from tracekit.policy.view.parametrised import Parametrised


@dataclass(frozen=True, kw_only=True)
class Schedulers(Parametrised):
    """How many schedulers there are, and how old their views get."""

    number: Annotated[int, About("Schedulers that place in turn.", minimum=2, maximum=1000)] = 2
    cache_age_ms: Annotated[
        int,
        About("How old the view of a scheduler gets; 0: each decision has a new one.", minimum=0),
    ] = 10_000

    source: ClassVar[str] = "source 001, table 2-1"
    notes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def view_ms(self, scheduler: int, now_ms: int) -> int:
        """When a scheduler, by its number from 0, took the view that it has now."""
        if not self.cache_age_ms:
            return now_ms
        first = scheduler * self.cache_age_ms // self.number
        return now_ms - (now_ms - first) % self.cache_age_ms
