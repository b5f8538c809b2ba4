"""Base of the rivals: each iteration may end with a mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated

from tracekit.base.parameters import About
from tracekit.policy.search.flock import Anchor
from tracekit.policy.search.running import Search


@dataclass(frozen=True, kw_only=True)
class MutatingSearch(Search):
    """A search that mutates all of its population now and then."""

    mutation_share: Annotated[
        float, About("Probability that an iteration ends with a mutation.", minimum=0, maximum=1)
    ] = 0.5
    t_anchor: Anchor = "origin"
