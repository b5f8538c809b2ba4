"""All searches by name, and the rivals of bald eagle search.

Each iteration of a rival may end with a mutation by Student's t.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base import registry
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.search.eagles import BesSearch, TbeskSearch
from tracekit.policy.search.flock import Anchor, Flock, Start, Tools, coin, copy_rows, draw, put_row
from tracekit.policy.search.running import Search

#: Positions of parameters in the numbers of a search, first those of every rival.
MUTATION, CENTRED, ITERATIONS = range(3)


@dataclass(frozen=True, kw_only=True)
class MutatingSearch(Search):
    """A search whose iterations may end with a mutation of all candidates."""

    mutation_share: Annotated[
        float, About("Probability that an iteration ends with a mutation.", minimum=0, maximum=1)
    ] = 0.5
    t_anchor: Anchor = "origin"

    def numbers(self) -> tuple[float, ...]:
        """Return the parameters at ``MUTATION``, ``CENTRED`` and ``ITERATIONS``, in this order."""
        return (self.mutation_share, self.t_anchor == "centre", self.iterations)


def mutate_all(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Propose a mutation of every candidate, with a probability of ``numbers[MUTATION]``."""
    if rng.random() < numbers[MUTATION]:
        centred, proposed = numbers[CENTRED] > 0.0, flock.proposed
        tools.mutate(flock.positions, flock.box, iteration, centred, rng, proposed)
        tools.propose(flock, flock.everybody)


# Particle swarm.

FIRST, LAST, OWN, COMMON, FASTEST = range(3, 8)

#: Arrays in ``more``: positions of particles, their velocities, and random numbers or costs.
AT, VELOCITY, DRAWS = range(3)


def fly(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Run one iteration of particle swarm: all particles move, and then all may mutate.

    ``flock.positions`` are their best positions so far; ``flock.more[AT]`` their present ones.
    """
    at, velocity, draws = flock.more[AT], flock.more[VELOCITY], flock.more[DRAWS]
    proposed, costs = flock.proposed, flock.proposed_costs
    if iteration == 1:
        copy_rows(flock.positions, at)
    draw(draws, rng)
    done = (iteration - 1) / max(numbers[ITERATIONS] - 1.0, 1.0)
    goals = (flock.positions, flock.best)
    _steer((at, velocity), goals, flock.box, draws, numbers, done, rng)
    for row in range(at.shape[0]):
        for column in range(at.shape[1]):
            proposed[row, column] = at[row, column] + velocity[row, column]
    tools.propose(flock, flock.everybody)
    copy_rows(proposed, at)
    if rng.random() < numbers[MUTATION]:
        for row in range(len(costs)):
            draws[row, 0] = costs[row]
        tools.mutate(at, flock.box, iteration, numbers[CENTRED] > 0.0, rng, proposed)
        tools.propose(flock, flock.everybody)
        for row in range(len(costs)):
            if costs[row] < draws[row, 0]:
                put_row(proposed, row, at, row)


def _steer(
    moving: tuple[FloatArray, FloatArray],
    goals: tuple[FloatArray, FloatArray],
    box: FloatArray,
    draws: FloatArray,
    numbers: FloatArray,
    done: float,
    rng: Any,
) -> None:
    """Write new velocities, clipped to the highest allowed.

    Parameters
    ----------
    moving : (positions, velocities)
    goals : (best positions of the particles, best position of all)
    done : float
        The share of iterations done, 0..1.
    """
    (at, velocity), (own, common) = moving, goals
    inertia = numbers[FIRST] + (numbers[LAST] - numbers[FIRST]) * done
    for row in range(at.shape[0]):
        for column in range(at.shape[1]):
            pulls = (numbers[OWN] * draws[row, column], numbers[COMMON] * rng.random())
            bests = (own[row, column], common[column])
            moved = steered(at[row, column], velocity[row, column], inertia, pulls, bests)
            most = numbers[FASTEST] * (box[1, column] - box[0, column])
            velocity[row, column] = min(max(moved, -most), most)


def steered(
    at: float,
    velocity: float,
    inertia: float,
    pulls: tuple[float, float],
    bests: tuple[float, float],
) -> float:
    """Return a velocity: ``inertia * v + c1 r1 (own best - x) + c2 r2 (best of all - x)``.

    ``pulls`` are (c1 r1, c2 r2), and ``bests`` are (own best, best of all).
    """
    return inertia * velocity + pulls[0] * (bests[0] - at) + pulls[1] * (bests[1] - at)


@dataclass(frozen=True, kw_only=True)
class TpsoSearch(MutatingSearch):
    """Particle swarm with decreasing inertia."""

    search_source: ClassVar[str] = (
        "Kennedy and Eberhart 1995, inertia of Shi and Eberhart 1998, with the t step of the"
        " rivals in Geng and Wang 2023; what that paper changed further is not published"
    )
    iterate = staticmethod(fly)
    more: ClassVar[int] = 3

    inertia_first: Annotated[
        float, About("Inertia in the first iteration, of the velocity.", minimum=0, maximum=1)
    ] = 0.9
    inertia_last: Annotated[
        float, About("Inertia in the last iteration, of the velocity.", minimum=0, maximum=1)
    ] = 0.4
    own_pull: Annotated[float, About("Pull of a particle's own best position.", minimum=0)] = 2.0
    common_pull: Annotated[float, About("Pull of the best position of all.", minimum=0)] = 2.0
    fastest: Annotated[
        float, About("Highest velocity, as a share of the range.", minimum=0, maximum=1)
    ] = 0.2

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers of ``MutatingSearch``, then those at ``FIRST`` to ``FASTEST``."""
        own = (self.inertia_first, self.inertia_last, self.own_pull, self.common_pull)
        return (*super().numbers(), *own, self.fastest)


# Satin bowerbirds.

STEP, SHARE, WIDTH = range(3, 6)


def build(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Run one iteration of bowerbird search: every bower moves, and then all may mutate."""
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
    mutate_all(flock, tools, numbers, iteration, rng)


def attraction(costs: FloatArray, chances: FloatArray, sums: FloatArray) -> None:
    """Write the probability with which each bower is chosen; a lower cost is likelier.

    It is proportional to ``1 / (1 + f)`` for a cost ``f >= 0``, and to ``1 - f`` for ``f < 0``.

    Parameters
    ----------
    chances, sums : float64, shape (bowers,)
        Written: the probabilities and their running sums.
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
    """Return the first bower whose running sum of probabilities is above a draw; else the last."""
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > draw:
            high = middle
        else:
            low = middle + 1
    return low


def built(own: float, other: float, elite: float, step: float, chance: float) -> float:
    """Return ``own`` moved by ``lambda`` of the way to the middle of ``other`` and ``elite``.

    Lambda is ``step / (1 + chance)``, where ``chance`` is the probability of the other bower.
    """
    return own + step / (1.0 + chance) * ((other + elite) / 2 - own)


@dataclass(frozen=True, kw_only=True)
class TsboSearch(MutatingSearch):
    """Bowerbird search: a coordinate moves towards the middle of the best and a random bower."""

    search_source: ClassVar[str] = (
        "Moosavi and Bardsiri 2017 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )
    iterate = staticmethod(build)
    more: ClassVar[int] = 2

    step: Annotated[float, About("Longest step, 'alpha' of the paper.", minimum=0)] = 0.94
    noise_share: Annotated[
        float, About("Probability of a random move of a component.", minimum=0, maximum=1)
    ] = 0.05
    noise_width: Annotated[
        float, About("Deviation of a random move, as a share of the range.", minimum=0, maximum=1)
    ] = 0.02

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers of ``MutatingSearch``, then those at ``STEP, SHARE, WIDTH``."""
        return (*super().numbers(), self.step, self.noise_share, self.noise_width)


# Sparrows.

#: Avoids a division by 0 for the worst sparrow.
_TINY = 1e-50
PRODUCERS, SCOUTS, SAFETY = range(3, 6)


def forage(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Run one iteration of sparrow search: sort by cost, move each role, then maybe mutate."""
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
    mutate_all(flock, tools, numbers, iteration, rng)


def by_cost(costs: FloatArray, order: IntArray) -> None:
    """Write row numbers in ascending order of cost, by insertion: most rows are in order."""
    for own in range(len(costs)):
        place = own
        while place > 0 and costs[order[place - 1]] > costs[own]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = own


def _produce(
    positions: FloatArray, producers: int, how: tuple[float, float], rng: Any, out: FloatArray
) -> None:
    """Write the moves of producers, all of one kind; ``how`` is (safety, iterations)."""
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
    """Write the moves of scroungers, from ``first`` on: the worse half flies off."""
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
    goal: tuple[FloatArray, float],
    rows: IntArray,
    rng: Any,
    out: FloatArray,
) -> None:
    """Write the moves of scouts, relative to the best or the worst; ``goal`` is (best, cost)."""
    (best, best_cost), draws, last = goal, np.empty(len(rows)), 0
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
    """Return ``own * exp(-rank / (draw * iterations))``; draw is in (0, 1], the best rank is 1."""
    moved: float = own * np.exp(-rank / (draw * iterations))
    return moved


def hungry_scrounger(own: float, worst: float, rank: int, draw: float) -> float:
    """Return ``draw * exp((worst - own) / rank^2)``, draw normal; an overflow is clipped later."""
    moved: float = draw * np.exp((worst - own) / rank**2)
    return moved


def fleeing_scout(own: float, best: float, draw: float) -> float:
    """Return ``best + draw * abs(own - best)``; ``draw`` is normal."""
    return best + draw * abs(own - best)


@dataclass(frozen=True, kw_only=True)
class TssaSearch(MutatingSearch):
    """Sparrow search: the best sparrows are producers, the others scroungers, some are scouts."""

    search_source: ClassVar[str] = (
        "Xue and Shen 2020 with the t step of the rivals in Geng and Wang 2023;"
        " what that paper changed further is not published"
    )
    iterate = staticmethod(forage)

    start: Start = "tent"
    producer_share: Annotated[float, About("Share of producers.", minimum=0, maximum=1)] = 0.2
    scout_share: Annotated[float, About("Share of scouts.", minimum=0, maximum=1)] = 0.1
    safety: Annotated[
        float, About("Probability that producers stay near.", minimum=0.5, maximum=1)
    ] = 0.8

    def numbers(self) -> tuple[float, ...]:
        """Return the numbers of ``MutatingSearch``, then those at ``PRODUCERS`` to ``SAFETY``."""
        shares = (self.producer_share, self.scout_share)
        counts = (max(round(share * self.population), 1) for share in shares)
        return (*super().numbers(), *counts, self.safety)


_SEARCHES = {
    "bes": BesSearch,
    "tbesk": TbeskSearch,
    "tpso": TpsoSearch,
    "tsbo": TsboSearch,
    "tssa": TssaSearch,
}


def all_searches() -> Mapping[str, type[Search]]:
    """Return every search, by name."""
    searches: Mapping[str, Any] = _SEARCHES
    return searches


def get_search(name: str) -> type[Search]:
    """Return the search with a name; raises TracekitError for an unknown name."""
    return registry.pick(all_searches(), name, "search", listing="tracekit list searches")
