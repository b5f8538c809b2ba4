"""Base of the rivals: each iteration may end with a mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np

from tracekit.parameters import About
from tracekit.replay.optimize.flock import Anchor, Flock, Start, t_mutation
from tracekit.replay.optimize.search import Search

State = TypeVar("State", bound=Flock)


@dataclass(frozen=True, kw_only=True)
class MutatingSearch(Search[State]):
    """A search that mutates all of its population now and then."""

    start: Start = "uniform"
    mutation_share: Annotated[
        float, About("Probability that an iteration ends with a mutation.", minimum=0, maximum=1)
    ] = 0.5
    t_anchor: Anchor = "origin"

    def mutate(self, flock: State, iteration: int, rng: np.random.Generator) -> None:
        """Mutate all or none; those that improve stay mutated."""
        if rng.random() < self.mutation_share:
            flock.propose(
                t_mutation(flock.positions, iteration, flock.problem, rng, anchor=self.t_anchor)
            )
