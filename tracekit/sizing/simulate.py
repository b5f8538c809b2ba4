"""One policy through one simulation, from the first period to the last."""

import numpy as np

from tracekit.sizing.network.weights import Model
from tracekit.sizing.policy import Given, SizingPolicy
from tracekit.sizing.world.simset import SimulationSet
from tracekit.sizing.world.simulation import Simulation, View


def simulate(
    simulation: Simulation,
    policy: SizingPolicy,
    *,
    rng: np.random.Generator,
    training: SimulationSet | None = None,
    model: Model | None = None,
) -> float:
    """Size every container by the policy until all periods are over; the rewards' sum.

    What the policy does not declare to read is not handed to it.
    """
    sizer = policy.start(_given(simulation, policy, rng, training, model))
    view = View(simulation, looks_ahead="ahead" in policy.reads)
    reward = 0.0
    while not simulation.done:
        simulation.apply(sizer.size(view))
        simulation.advance()
        reward += float(simulation.rewards.sum())
    return reward


def _given(
    simulation: Simulation,
    policy: SizingPolicy,
    rng: np.random.Generator,
    training: SimulationSet | None,
    model: Model | None,
) -> Given:
    part = simulation.part
    times = part.times_ms
    begin = simulation.start
    profiled = part.need[:, begin : begin + policy.profile_periods()]
    return Given(
        containers=part.size,
        period_ms=int(times[1] - times[0]) if len(times) > 1 else 1,
        settings=simulation.settings,
        rng=rng,
        profile=profiled if "profile" in policy.reads else None,
        training=training if "training" in policy.reads else None,
        model=model if "model" in policy.reads else None,
    )
