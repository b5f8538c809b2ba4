"""Promises that every sizing policy keeps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sizing_support import random_set, set_of

from tracekit.base import parameters
from tracekit.commands.listing import listing
from tracekit.sizing.policies import all_sizing_policies, parse_sizing_policy, simulate
from tracekit.sizing.policies.simple import ExponentialForecast, Oracle, PercentileRequest
from tracekit.sizing.weights import Model, layer_shapes
from tracekit.sizing.world.simset import Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation, View

POLICIES = all_sizing_policies()
every_policy = pytest.mark.parametrize("name", POLICIES)
SETTINGS = Settings(cycle_periods=5, nodes=2)


def model() -> Model:
    """An untrained network."""
    rng = np.random.default_rng(0)
    shapes = layer_shapes(20, 8, 16)
    layers = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    return Model(layers, 20, 8, 16)


def sized(name: str, part: SimulationSet, *, seed: int = 0) -> Simulation:
    """The set under the policy with its defaults."""
    simulation = Simulation(part, SETTINGS)
    rng = np.random.default_rng(seed)
    simulate(simulation, POLICIES[name](), rng=rng, training=random_set(8), model=model())
    return simulation


@every_policy
def test_it_is_documented_and_listed(name: str) -> None:
    policy = POLICIES[name]
    assert policy.source
    assert policy.reads
    assert all(note.doc.endswith(".") for note in parameters.about(policy).values())
    assert all(field.kw_only for field in dataclasses.fields(policy))
    assert name in [entry["name"] for entry in listing("sizing_policies")]


@every_policy
def test_its_text_reads_back_as_the_same_policy(name: str) -> None:
    policy = POLICIES[name]()
    assert str(policy) == name
    spelled = f"{name}[{parameters.spell_all(policy, defaults=True)}]"
    assert parse_sizing_policy(spelled) == policy


@every_policy
def test_limits_are_sizes_and_nodes_hold_them(name: str) -> None:
    simulation = sized(name, random_set(3, containers=30, periods=40))
    limits = simulation.arrays.limits
    assert ((limits == np.round(limits)) & (limits >= 1) & (limits <= 4)).all()
    assert (simulation.arrays.allocated <= simulation.world.total + 1e-9).all()


@every_policy
def test_same_input_same_limits(name: str) -> None:
    part = random_set(4)
    first, again = sized(name, part, seed=1), sized(name, part, seed=1)
    assert first.arrays.limits.tobytes() == again.arrays.limits.tobytes()


@every_policy
def test_only_the_oracle_knows_what_comes(name: str) -> None:
    """Limits until a period are the same whatever the needs from then on."""
    part, now = random_set(5, periods=200), 148
    changed = dataclasses.replace(part, need=part.need.copy())
    changed.need[:, now:] = 4.0 - changed.need[:, now:]
    before, after = (sized(name, one).arrays.limits[:, :now] for one in (part, changed))
    same = before.tobytes() == after.tobytes()
    # a cycle that spans the change differs for the oracle, if only in its last decision
    assert same == (name != "oracle")


def test_a_policy_that_peeks_is_stopped() -> None:
    with pytest.raises(PermissionError, match="coming"):
        View(Simulation(random_set(1), SETTINGS)).ahead()


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
