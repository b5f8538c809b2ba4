"""``python bench/bench_size.py``: decisions a second of the sizing environment, no network.

A set of the study's size, 1,722 containers and 1,440 periods, and its test part of 170: every
container due gets a random size, and its state is read. Beside it the gymnasium environment of one
container among 20, and all policies but the agent on the test part. ``--quick`` measures nothing.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from tracekit.sizing.policies import all_sizing_policies, simulate
from tracekit.sizing.world.simset import Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation

TARGET_STEPS_PER_S = 20_000


def made_up(containers: int, periods: int) -> SimulationSet:
    """Needs about a level with noise; chains of five, each container calling the next."""
    rng = np.random.default_rng(0)
    level = rng.uniform(0.2, 2.5, (containers, 1, 2))
    need = np.clip(level + rng.normal(0, 0.2, (containers, periods, 2)), 0, 4)
    edges = np.array([(at, at + 1) for at in range(containers - 1) if at % 5 != 4])
    return SimulationSet(
        name="bench",
        containers=tuple(f"c{at}" for at in range(containers)),
        chain=np.arange(containers) // 5,
        need=need,
        times_ms=np.arange(periods, dtype=np.int64) * 30_000,
        edges=edges,
        calls=rng.poisson(2.0, (len(edges), periods)).astype(np.float64),
    )


def all_at_once(part: SimulationSet) -> float:
    """Decisions a second with all containers in one environment."""
    simulation = Simulation(part, Settings())
    sizes, rng = simulation.settings.sizes(), np.random.default_rng(1)
    begin = time.perf_counter()
    while not simulation.done:
        simulation.state(simulation.due)
        simulation.apply(sizes[rng.integers(len(sizes), size=len(simulation.due))])
        simulation.advance()
    return float(simulation.cycles.sum() / (time.perf_counter() - begin))


def one_among_others(part: SimulationSet, steps: int) -> float:
    """Steps a second of the gymnasium environment."""
    from tracekit.sizing.gym_env import SizingEnv  # noqa: PLC0415 - the extra rl may be absent

    env = SizingEnv(part)
    env.reset(seed=0)
    begin = time.perf_counter()
    for at in range(steps):
        if env.step(np.int64(at % 16))[3]:
            env.reset()
    return steps / (time.perf_counter() - begin)


def _tell(what: str, rate: float) -> None:
    print(f"{what:<26}{rate:>10,.0f} steps/s, {rate / TARGET_STEPS_PER_S:.1f} x target")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    periods = 40 if quick else 1_440
    test = made_up(20 if quick else 170, periods)
    whole = made_up(30 if quick else 1_722, periods)
    all_at_once(made_up(10, 40))
    for part in (test, whole):
        _tell(f"{part.size:,} containers at once", all_at_once(part))
    # each step of the one is some twenty decisions of the others
    one = one_among_others(made_up(20, periods), 20 if quick else 5_000)
    _tell("one container among 20", one)
    begin = time.perf_counter()
    for name, policy in all_sizing_policies().items():
        if "model" not in policy.reads:
            started = time.perf_counter()
            rng = np.random.default_rng(0)
            simulate(Simulation(test, Settings()), policy(), rng=rng, training=test)
            print(f"{name:<26}{time.perf_counter() - started:>10.2f} s on {test.size} containers")
    print(f"all but the agent         {time.perf_counter() - begin:>10.2f} s")


if __name__ == "__main__":
    main()
