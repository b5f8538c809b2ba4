"""tSSA: sparrow search with a tent start and mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Flock, Start, Tools, coin
from tracekit.policy.search.searches._eagles import MutatingSearch

#: Keeps the step of the best sparrow finite where it is the worst too.
_TINY = 1e-50


#: Places in the numbers of the parameters that an iteration needs.
PRODUCERS, SCOUTS, SAFETY, ITERATIONS, MUTATION, CENTRED = range(6)


def forage(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Producers, scroungers, scouts, mutation; the population is sorted by cost first."""
    positions, proposed, best = flock.positions, flock.proposed, flock.best
    order = np.empty(len(positions), np.int64)
    by_cost(flock.costs, order)
    tools.arrange(flock, order)
    producers, scouts = int(numbers[PRODUCERS]), int(numbers[SCOUTS])
    _produce(positions, producers, (numbers[SAFETY], numbers[ITERATIONS]), rng, proposed)
    tools.propose(flock, flock.everybody[:producers])
    _scrounge(positions, best, producers, rng, proposed)
    tools.propose(flock, flock.everybody[producers:])
    tools.shuffle(order, rng)
    rows = order[:scouts]
    _scout(positions, flock.costs, (best, flock.best_cost[0]), rows, rng, proposed)
    tools.propose(flock, rows)
    if rng.random() < numbers[MUTATION]:
        tools.mutate(positions, flock.box, iteration, numbers[CENTRED] > 0.0, rng, proposed)
        tools.propose(flock, flock.everybody)


def by_cost(costs: FloatArray, order: IntArray) -> None:
    """The order of rising costs; who costs the same stays in order. Most are in order already."""
    for own in range(len(costs)):
        place = own
        while place > 0 and costs[order[place - 1]] > costs[own]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = own


def _produce(
    positions: FloatArray, producers: int, how: tuple[float, float], rng: Any, out: FloatArray
) -> None:
    """The first leave all at once, or none; ``how``: the safety and the iterations."""
    safety, iterations = how
    safe = rng.random() < safety
    for row in range(producers):
        drawn = 1.0 - rng.random() if safe else rng.standard_normal()
        for at in range(positions.shape[1]):
            own = positions[row, at]
            if safe:
                out[row, at] = safe_producer(own, row + 1, drawn, iterations)
            else:
                out[row, at] = own + drawn


def _scrounge(
    positions: FloatArray, best: FloatArray, first: int, rng: Any, out: FloatArray
) -> None:
    """All from ``first`` on; those who are far behind fly off, the others go near the best."""
    count, dimensions = positions.shape
    draws = np.empty(count)
    for row in range(first, count):
        draws[row] = rng.standard_normal()
    for row in range(first, count):
        step = 0.0
        for at in range(dimensions):
            way = abs(positions[row, at] - best[at])
            step += way if coin(rng) else -way
        for at in range(dimensions):
            if row + 1 > count / 2:
                own, worst = positions[row, at], positions[count - 1, at]
                out[row - first, at] = hungry_scrounger(own, worst, row + 1, draws[row])
            else:
                out[row - first, at] = best[at] + step / dimensions


def _scout(
    positions: FloatArray,
    costs: FloatArray,
    found: tuple[FloatArray, float],
    rows: IntArray,
    rng: Any,
    out: FloatArray,
) -> None:
    """Some flee to the best, which is nervous itself; ``found``: the best and its cost."""
    (best, best_cost), draws, last = found, np.empty(len(rows)), 0
    for row in range(len(rows)):
        draws[row] = rng.standard_normal()
    for row in range(1, len(costs)):
        if costs[row] > costs[last]:
            last = row
    for row in range(len(rows)):
        one, turn = rows[row], rng.uniform(-1.0, 1.0)
        gap = costs[one] - costs[last] + _TINY
        for at in range(positions.shape[1]):
            own = positions[one, at]
            if costs[one] > best_cost:
                out[row, at] = fleeing_scout(own, best[at], draws[row])
            else:
                out[row, at] = own + turn * abs(own - positions[last, at]) / gap


def safe_producer(own: float, rank: int, draw: float, iterations: float) -> float:
    """``x * exp(-rank / (draw * iterations))``, draw in (0, 1]; ranks from 1."""
    moved: float = own * np.exp(-rank / (draw * iterations))
    return moved


def hungry_scrounger(own: float, worst: float, rank: int, draw: float) -> float:
    """``Q * exp((worst - x) / rank^2)``, Q normal; far-off positions overflow and are clipped."""
    moved: float = draw * np.exp((worst - own) / rank**2)
    return moved


def fleeing_scout(own: float, best: float, draw: float) -> float:
    """``b + beta * |x - b|``, beta normal."""
    return best + draw * abs(own - best)


@dataclass(frozen=True, kw_only=True)
class TssaSearch(MutatingSearch):
    """Sparrow search: producers, scroungers that follow them, and scouts that flee."""

    search_source: ClassVar[str] = (
        "Xue and Shen 2020 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )
    iterate = staticmethod(forage)

    start: Start = "tent"
    producer_share: Annotated[
        float, About("Share of the population that leads.", minimum=0, maximum=1)
    ] = 0.2
    scout_share: Annotated[
        float, About("Share of the population that watches out.", minimum=0, maximum=1)
    ] = 0.1
    safety: Annotated[
        float, About("An alarm above this makes the producers leave.", minimum=0.5, maximum=1)
    ] = 0.8

    def numbers(self) -> tuple[float, ...]:
        """By ``PRODUCERS, SCOUTS, SAFETY, ITERATIONS, MUTATION, CENTRED``."""
        return (
            max(round(self.producer_share * self.population), 1),
            max(round(self.scout_share * self.population), 1),
            self.safety,
            self.iterations,
            self.mutation_share,
            self.t_anchor == "centre",
        )
