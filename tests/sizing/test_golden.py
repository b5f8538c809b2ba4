"""The worked examples of the study's equations."""

from __future__ import annotations

import numpy as np
import pytest
from sizing_support import GOLDEN, set_of

from tracekit.sizing.measures import measures_of
from tracekit.sizing.policies import simulate
from tracekit.sizing.policies.simple import MinimumSelection, shares
from tracekit.sizing.world import periods
from tracekit.sizing.world.periods import CHANNELS
from tracekit.sizing.world.simset import Settings, build_world, fresh_state
from tracekit.sizing.world.simulation import Simulation


def test_actions() -> None:
    case = GOLDEN["ddqn.actions"]
    settings = Settings()
    for size, index in case["expected"]["examples"].items():
        limits = np.array(size.strip("()").split(","), dtype=np.float64)
        assert settings.index_of(limits) == index
        assert settings.sizes()[index].tolist() == limits.tolist()
    assert settings.index_of(settings.sizes()).tolist() == list(range(16))


def test_theta() -> None:
    """Eqs 6-8: one period whose use is the case's, so that mean and peak are given apart."""
    case = GOLDEN["ddqn.theta"]["input"]
    names = list(case["calls"])
    world = build_world(
        set_of(
            np.ones((4, 2, 2)),
            edges=[(at, 3) for at in range(3)],
            calls=[[case["calls"][name], 0] for name in names],
        ),
        Settings(),
    )
    state = fresh_state(world)
    through = np.zeros((4, 2))
    for at, name in enumerate(names):
        for resource, kind in enumerate(("cpu", "mem")):
            mean, peak = case[f"{kind}_avg"][name], case[f"{kind}_max"][name]
            state.share[at, :, resource] = peak, 2 * mean - peak
        through[at, 0] = case["throughput"][name]
    out = np.zeros(6)
    periods.upstream_use(world._replace(throughput=through), state, 3, 0, 2, out)
    expected = GOLDEN["ddqn.theta"]["expected"]["I_um"]
    assert out[[0, 1, 2, 3, 5]] == pytest.approx([expected[at] for at in (0, 1, 2, 3, 5)])


def test_theta_of_g() -> None:
    case = GOLDEN["ddqn.theta"]["input"]
    names = list(case["calls"])
    calls = [[case["calls"][name]] for name in names]
    part = set_of(np.ones((4, 1, 2)), edges=[(at, 3) for at in range(3)], calls=calls)
    world = build_world(part, Settings())
    state = fresh_state(world)
    for at, name in enumerate(names):
        state.share[at, 0] = 0.5, 0.5 + case["G"][name]
    out = np.zeros(6)
    periods.upstream_use(world, state, 3, 0, 1, out)
    assert out[4] == pytest.approx(GOLDEN["ddqn.theta"]["expected"]["I_um"][4])


@pytest.mark.parametrize("form", ["printed", "reciprocal"])
def test_reward(form: str) -> None:
    case = GOLDEN["ddqn.reward"]["input"]
    settings = Settings(reward=form, alpha0=case["alpha0"], beta0=case["beta0"])  # type: ignore[arg-type]
    state = fresh_state(build_world(set_of(np.ones((1, 1, 2))), settings))
    state.cycles_unchanged[0] = case["kept"]
    for r_container, expected in zip(
        case["r_container"], GOLDEN["ddqn.reward"]["expected"][form], strict=True
    ):
        rows = np.zeros((1, CHANNELS))
        rows[0, 6:10], rows[0, 10] = 0.2 * r_container, 0.2
        rows[0, 18], rows[0, 19] = 0.06, case["r_node"] - 0.06
        out = np.zeros(1)
        periods.rewards(state, np.array([0]), rows, settings.coefficients(), out)
        assert out[0] == pytest.approx(expected, abs=1e-6)


def test_inertia_sum() -> None:
    """64 steps that keep earn alpha0 / (cost) times the sum of ln(K + 1)."""
    steps = GOLDEN["ddqn.inertia_sum"]["input"]["steps"]
    simulation = Simulation(set_of(np.full((1, steps, 2), 0.5)), Settings(cycle_periods=1))
    total, factor = 0.0, 0.0
    while not simulation.done:
        simulation.apply(np.ones((len(simulation.due), 2)))
        simulation.advance()
        total += simulation.rewards[0]
        unchanged = int(simulation.arrays.cycles_unchanged[0])
        factor = simulation.rewards[0] / np.log(unchanged + 1) if unchanged else factor
    assert total / factor == pytest.approx(GOLDEN["ddqn.inertia_sum"]["expected"])


def test_first_fit_and_lowest_debris() -> None:
    case = GOLDEN["placement.FF_FD"]
    nodes = case["input"]["nodes"]
    base = build_world(set_of(np.ones((2, 1, 2))), Settings())
    total = np.array([node["cap"] for node in nodes.values()], dtype=np.float64)
    cores, gb = map(float, case["input"]["container"])
    for policy, first_fit in (("FF", True), ("FD", False)):
        world = base._replace(total=total, first_fit=np.full(3, first_fit))
        state = fresh_state(base)._replace(
            allocated=np.array([node["used"] for node in nodes.values()], dtype=np.float64),
            by_first_fit=np.full(2, first_fit),
        )
        chosen = periods.room_elsewhere(world, state, 0, cores, gb)
        assert list(nodes)[chosen] == case["expected"][policy]


def test_minimum_selection() -> None:
    case = GOLDEN["sizing.MS"]
    need = np.stack([case["input"]["cpu"], case["input"]["mem"]], axis=1)[None]
    simulation = Simulation(set_of(need), Settings(cycle_periods=1))
    simulate(simulation, MinimumSelection(), rng=np.random.default_rng(0))
    expected = case["expected"]
    assert simulation.arrays.limits[0].tolist() == expected["limit_per_period"]
    over = need[0] > simulation.arrays.limits[0]
    assert over.any(axis=1).tolist() == expected["violated"]
    measures = measures_of(simulation, reward=0.0)
    assert measures["qos"] == pytest.approx(expected["qos"])
    assert measures["change_share"] == pytest.approx(expected["change_share"])
    assert int(simulation.changed_cycles[0]) == expected["changes"]
    assert measures["container_cpu_fraction"] == pytest.approx(expected["cpu_util_mean"])
    assert measures["container_memory_fraction"] == pytest.approx(expected["mem_util_mean"])
    assert simulation.arrays.limit[0].tolist() == expected["final"]


def test_random_selection_chances() -> None:
    case = GOLDEN["sizing.MN_probs"]
    assert shares(np.array(case["input"]["final_counts"])) == pytest.approx(case["expected"])
