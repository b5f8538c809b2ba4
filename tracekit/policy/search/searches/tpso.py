"""tPSO: particle swarm with mutation by Student's t."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tracekit.base.arrays import FloatArray
from tracekit.base.parameters import About
from tracekit.policy.search.flock import Flock, Tools, copy_rows, draw, put_row
from tracekit.policy.search.searches._eagles import MutatingSearch

#: Places in the numbers of the parameters that an iteration needs.
FIRST, LAST, OWN, COMMON, FASTEST, MUTATION, CENTRED, ITERATIONS = range(8)

#: Places in ``more``: where each particle is, how it moves, and random numbers or costs.
AT, VELOCITY, DRAWS = range(3)


def fly(flock: Flock, tools: Tools, numbers: FloatArray, iteration: int, rng: Any) -> None:
    """Fly, perhaps mutate where each has come to, and remember what was best.

    The flock holds where each particle was best.
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
    """The new velocities, none faster than allowed.

    Parameters
    ----------
    moving : (positions, velocities)
    goals : (own bests, best of all)
    done : float
        How much of the iterations is done, 0..1.
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
    """``w v + c1 r1 (own best - x) + c2 r2 (best of all - x)``; the pulls are the c times r."""
    return inertia * velocity + pulls[0] * (bests[0] - at) + pulls[1] * (bests[1] - at)


@dataclass(frozen=True, kw_only=True)
class TpsoSearch(MutatingSearch):
    """Particle swarm with falling inertia."""

    search_source: ClassVar[str] = (
        "Kennedy and Eberhart 1995, inertia of Shi and Eberhart 1998, with the t step of the"
        " rivals in Geng and Wang 2023; what that paper changed further is not published"
    )
    iterate = staticmethod(fly)
    more: ClassVar[int] = 3

    inertia_first: Annotated[
        float, About("Share of the velocity that is kept at first.", minimum=0, maximum=1)
    ] = 0.9
    inertia_last: Annotated[
        float, About("Share of the velocity that is kept at last.", minimum=0, maximum=1)
    ] = 0.4
    own_pull: Annotated[float, About("Pull of a particle's own best.", minimum=0)] = 2.0
    common_pull: Annotated[float, About("Pull of the best of all.", minimum=0)] = 2.0
    fastest: Annotated[
        float, About("Largest velocity, as a share of the range.", minimum=0, maximum=1)
    ] = 0.2

    def numbers(self) -> tuple[float, ...]:
        """By ``FIRST, LAST, OWN, COMMON, FASTEST, MUTATION, CENTRED, ITERATIONS``."""
        return (
            self.inertia_first,
            self.inertia_last,
            self.own_pull,
            self.common_pull,
            self.fastest,
            self.mutation_share,
            self.t_anchor == "centre",
            self.iterations,
        )
