"""tSBO: satin bowerbird optimisation with mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Flock, Tools, draw
from tracekit.policy.search.searches._eagles import MutatingSearch

#: Places in the numbers of the parameters that an iteration needs.
STEP, SHARE, WIDTH, MUTATION, CENTRED = range(5)


def build(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Every bower moves, some components at random; then mutation."""
    positions, proposed, best, box = flock.positions, flock.proposed, flock.best, flock.box
    draws, shaken = flock.more[0], flock.more[1]
    draw(draws, rng)
    draw(shaken, rng)
    chances, sums = np.empty(len(positions)), np.empty(len(positions))
    attraction(flock.costs, chances, sums)
    for row in range(positions.shape[0]):
        for at in range(positions.shape[1]):
            own, other = positions[row, at], chosen(sums, draws[row, at])
            moved = built(own, positions[other, at], best[at], numbers[STEP], chances[other])
            normal = rng.standard_normal()
            if shaken[row, at] < numbers[SHARE]:
                moved += numbers[WIDTH] * (box[1, at] - box[0, at]) * normal
            proposed[row, at] = moved
    tools.propose(flock, flock.everybody)
    if rng.random() < numbers[MUTATION]:
        tools.mutate(positions, flock.box, iteration, numbers[CENTRED] > 0.0, rng, proposed)
        tools.propose(flock, flock.everybody)


def attraction(costs: FloatArray, chances: FloatArray, sums: FloatArray) -> None:
    """Probabilities that bowers are chosen: in proportion to ``1 / (1 + f)``, ``1 + |f|`` below 0.

    Parameters
    ----------
    chances, sums : float64, shape (bowers,)
        Take the probabilities, and the sums up to each.
    """
    total = 0.0
    for at in range(len(costs)):
        cost = costs[at]
        chances[at] = 1.0 / (1.0 + cost) if cost >= 0.0 else 1.0 - cost
        total += chances[at]
    upto = 0.0
    for at in range(len(costs)):
        chances[at] = chances[at] / total
        upto += chances[at]
        sums[at] = upto


def chosen(sums: FloatArray, draw: float) -> int:
    """The first whose running sum of probabilities is above the draw; else the last."""
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > draw:
            high = middle
        else:
            low = middle + 1
    return low


def built(own: float, other: float, elite: float, step: float, chance: float) -> float:
    """``x + lambda * ((x_j + elite) / 2 - x)`` with ``lambda = step / (1 + chance of j)``."""
    return own + step / (1.0 + chance) * ((other + elite) / 2 - own)


@dataclass(frozen=True, kw_only=True)
class TsboSearch(MutatingSearch):
    """Bowerbirds: each component goes halfway to the best and to a bower that was chosen."""

    search_source: ClassVar[str] = (
        "Moosavi and Bardsiri 2017 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )
    iterate = staticmethod(build)
    more: ClassVar[int] = 2

    step: Annotated[float, About("Largest step, 'alpha' of the paper.", minimum=0)] = 0.94
    noise_share: Annotated[
        float, About("Probability that a component is moved at random.", minimum=0, maximum=1)
    ] = 0.05
    noise_width: Annotated[
        float, About("Standard deviation of that, as a share of the range.", minimum=0, maximum=1)
    ] = 0.02

    def numbers(self) -> tuple[float, ...]:
        """By ``STEP, SHARE, WIDTH, MUTATION, CENTRED``."""
        return (
            self.step,
            self.noise_share,
            self.noise_width,
            self.mutation_share,
            self.t_anchor == "centre",
        )
