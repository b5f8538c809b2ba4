"""What practice uses, each against a slow, obvious computation."""

from __future__ import annotations

import numpy as np
from sizing_support import random_set, set_of

from tracekit.sizing.policies import simulate
from tracekit.sizing.policies.simple import ExponentialForecast, Oracle, PercentileRequest
from tracekit.sizing.world.simset import Settings
from tracekit.sizing.world.simulation import Simulation

ROOMY = Settings(cycle_periods=5, nodes=12)


def test_oracle_never_overflows_where_there_is_room_and_wastes_nothing() -> None:
    part = random_set(6, periods=100)
    simulation = Simulation(part, ROOMY)
    simulate(simulation, Oracle(), rng=np.random.default_rng(0))
    assert simulation.overflow_cycles.sum() == 0
    for begin in range(0, 100, 5):
        peak = part.need[:, begin : begin + 5].max(axis=1)
        expected = np.clip(np.ceil(peak), 1, 4)
        assert simulation.arrays.limits[:, begin].tolist() == expected.tolist()


def test_percentile_request_is_the_percentile_with_margin_for_good() -> None:
    part = random_set(7, periods=150)
    simulation = Simulation(part, ROOMY)
    policy = PercentileRequest(percentile=0.9, margin=0.2, periods=60)
    simulate(simulation, policy, rng=np.random.default_rng(0))
    wanted = np.quantile(part.need[:, :60], 0.9, axis=1) * 1.2
    expected = np.clip(np.ceil(wanted), 1, 4)
    assert (simulation.arrays.limits == expected[:, None]).all()
    assert simulation.changed_cycles.sum() == 0


def test_forecast_is_the_weighted_mean_and_deviation() -> None:
    part = random_set(8, containers=4, periods=41)
    part = set_of(np.minimum(part.need, 1.0))  # nothing overflows, so use is need
    simulation = Simulation(part, ROOMY)
    policy = ExponentialForecast(half_life_periods=7, deviations=2, margin=0.5)
    simulate(simulation, policy, rng=np.random.default_rng(0))
    keep = 0.5 ** (1 / 7)
    ages = np.arange(40)[::-1]
    weights = np.where(np.arange(40) == 0, 1.0, 1 - keep) * keep**ages
    seen = part.need[:, :40]
    mean = np.einsum("t,ctr->cr", weights, seen)
    square = np.einsum("t,ctr->cr", weights, seen**2)
    wanted = (mean + 2 * np.sqrt(square - mean**2)) * 1.5
    expected = np.clip(np.ceil(wanted - 1e-9), 1, 4)
    assert simulation.arrays.limits[:, 40].tolist() == expected.tolist()
