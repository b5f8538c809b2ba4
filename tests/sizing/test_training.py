"""Training: the network, resuming, sameness, and a problem whose best policy is known."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sizing_support import random_set, set_of

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.sizing.agent.network import act, layers_of, make_network
from tracekit.sizing.agent.session import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
    train,
)
from tracekit.sizing.agent.train import Trainer
from tracekit.sizing.policies import simulate
from tracekit.sizing.policies.simple import Ddqn
from tracekit.sizing.weights import Model, layer_shapes, load_model, save_model, values
from tracekit.sizing.world.periods import put
from tracekit.sizing.world.simset import Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation

torch = pytest.importorskip("torch", reason="the extra rl is not installed")

SMALL = Ddqn(
    pretraining=1, epochs=3, steps=8, start_after=64, batch=16, buffer=256, sync=5,
    epoch_containers=4, validate_every=2,
)  # fmt: skip
SETTINGS = Settings(cycle_periods=3)


def weights(model: Model) -> dict[str, list[float]]:
    return {name: layer.ravel().tolist() for name, layer in model.layers.items()}


def test_numpy_and_torch_are_the_same_network() -> None:
    network = make_network(20, 8, 16, seed=3)
    layers = layers_of(network)
    assert {name: layer.shape for name, layer in layers.items()} == layer_shapes(20, 8, 16)
    states = np.random.default_rng(0).random((7, 20, 8)).astype(np.float32)
    with torch.inference_mode():
        expected = network(torch.from_numpy(states)).numpy()
        quick = act(network, torch.from_numpy(states)).numpy()
    assert quick == pytest.approx(expected, abs=1e-5)
    assert values(Model(layers, 20, 8, 16), states) == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_network_and_another_seed_another() -> None:
    part = random_set(1)
    first, again, other = (train(part, SETTINGS, SMALL, seed=seed) for seed in (4, 4, 5))
    assert weights(first.model) == weights(again.model)
    assert first.log == again.log
    assert weights(first.model) != weights(other.model)
    assert [epoch.phase for epoch in first.log] == ["pretraining", *["training"] * 3]
    assert first.model.about["trained_on"] == list(part.containers)


@pytest.mark.slow
def test_training_taken_up_again_ends_with_the_same_network(tmp_path: Path) -> None:
    part, path = random_set(1), tmp_path / "kept.pt"
    whole = train(part, SETTINGS, SMALL, seed=4)
    mark = fingerprint(part, SETTINGS, SMALL, 4)
    stopped = Trainer(part, SETTINGS, SMALL, seed=4)
    save_checkpoint(stopped, [stopped.run_epoch(), stopped.run_epoch()], path, mark)
    resumed = train(part, SETTINGS, SMALL, seed=4, checkpoint=path)
    assert weights(resumed.model) == weights(whole.model)
    assert resumed.log == whole.log
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_checkpoint_of_another_training_is_not_taken_up(tmp_path: Path) -> None:
    part, path = random_set(1), tmp_path / "kept.pt"
    trainer = Trainer(part, SETTINGS, SMALL, seed=4)
    save_checkpoint(trainer, [trainer.run_epoch()], path, fingerprint(part, SETTINGS, SMALL, 4))
    for changed in (
        fingerprint(part, SETTINGS, SMALL, 5),
        fingerprint(part, SETTINGS, dataclasses.replace(SMALL, gamma=0.5), 4),
        fingerprint(part, dataclasses.replace(SETTINGS, alpha0=0.1), SMALL, 4),
        fingerprint(random_set(2), SETTINGS, SMALL, 4),
    ):
        assert load_checkpoint(Trainer(part, SETTINGS, SMALL, seed=4), path, changed) == []
    path.write_bytes(b"torn")
    assert load_checkpoint(trainer, path, "any") == []


def tiny_problem() -> tuple[SimulationSet, Settings]:
    """One container that needs memory first and CPU later: the best policy changes in time."""
    need = np.empty((1, 24, 2))
    need[0, :12] = 0.9, 1.7
    need[0, 12:] = 1.7, 0.9
    settings = Settings(
        cycle_periods=2, largest_cores=2, largest_gb=2, gamma_node_g=0.0, gamma_node_d=0.0
    )
    return set_of(need), settings


def best_possible(part: SimulationSet, settings: Settings) -> float:
    """The largest sum of rewards, by trying every size in every (period, size, K)."""
    sizes = settings.sizes()

    @cache
    def best(period: int, size: int, unchanged: int) -> float:
        if period >= part.periods:
            return 0.0
        return max(one(period, size, unchanged, action) for action in range(len(sizes)))

    def one(period: int, size: int, unchanged: int, action: int) -> float:
        simulation = Simulation(part, settings)
        simulation.now = period
        put(simulation.arrays, 0, 0, *sizes[size])
        simulation.arrays.cycles_unchanged[0] = unchanged
        simulation.cycles[0] = 1 if period else 0
        simulation.arrays.overflowed[0] = unchanged < 0
        simulation.apply(sizes[[action]])
        simulation.advance()
        after = int(simulation.arrays.cycles_unchanged[0])
        following = -1 if simulation.arrays.overflowed[0].any() else after
        return float(simulation.rewards[0]) + best(simulation.now, action, following)

    return best(0, 0, 0)


@pytest.mark.slow
def test_a_tiny_problem_is_solved_to_within_two_percent() -> None:
    part, settings = tiny_problem()
    optimum = best_possible(part, settings)
    policy = Ddqn(
        pretraining=0, epochs=110, steps=24, start_after=64, batch=32, sync=50, buffer=4096,
        backprop="off", validate_every=5,
    )  # fmt: skip
    model = train(part, settings, policy, seed=0).model
    simulation = Simulation(part, settings)
    reward = simulate(simulation, policy, rng=np.random.default_rng(0), model=model)
    assert reward >= 0.98 * optimum
    # and the optimum is no trifle: keeping any one size throughout is far from it
    for size in settings.sizes():
        assert kept_throughout(part, settings, size) < 0.6 * optimum


def kept_throughout(part: SimulationSet, settings: Settings, size: FloatArray) -> float:
    """Rewards of one size for good."""
    simulation, total = Simulation(part, settings), 0.0
    while not simulation.done:
        simulation.apply(size[None].repeat(len(simulation.due), axis=0))
        simulation.advance()
        total += float(simulation.rewards.sum())
    return total


# Trained networks as files: written, read back, refused.


def made(actions: int = 16) -> Model:
    rng = np.random.default_rng(0)
    shapes = layer_shapes(20, 8, actions)
    layers = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    return Model(layers, 20, 8, actions, about={"trained_on": ["a"], "seed": 1})


def test_reads_back_as_written(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        save_model(made(), tmp_path / "models" / name)
    assert [path.name for path in sorted((tmp_path / "models").iterdir())] == ["one.npz", "two.npz"]
    files = [(tmp_path / "models" / name).read_bytes() for name in ("one.npz", "two.npz")]
    assert files[0] == files[1]
    read = load_model(tmp_path / "models" / "one.npz", channels=20, cycles=8, actions=16)
    assert read.about == made().about
    state = np.random.default_rng(1).random((3, 20, 8)).astype(np.float32)
    assert values(read, state).tolist() == values(made(), state).tolist()


def test_a_model_whose_layers_contradict_its_head(tmp_path: Path) -> None:
    wrong = made()
    layers = {**wrong.layers, "dense0.bias": np.zeros(3, np.float32)}
    save_model(Model(layers, 20, 8, 16), tmp_path / "m.npz")
    with pytest.raises(TracekitError):
        load_model(tmp_path / "m.npz", channels=20, cycles=8, actions=16)


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04rest"])
def test_a_file_that_is_no_model(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(TracekitError):
        load_model(path, channels=20, cycles=8, actions=16)
    np.savez(path, some=np.zeros(3))
    with pytest.raises(TracekitError):
        load_model(path, channels=20, cycles=8, actions=16)
