"""The comparison of policies on the same test chains, once for each seed, after the training.

Also the sensitivity of the result to values that the paper does not state: one value is changed,
and the agent is trained anew.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.sizing.agent.session import Trained, train
from tracekit.sizing.agent.train import Epoch
from tracekit.sizing.measures import differences, measures_of, summary
from tracekit.sizing.policies import SizingPolicy, simulate
from tracekit.sizing.policies.simple import Ddqn
from tracekit.sizing.weights import Model
from tracekit.sizing.world.simset import Settings, SimulationSet, Split, split, upstream_felt
from tracekit.sizing.world.simulation import Simulation


@dataclass(frozen=True, kw_only=True, repr=False)
class Study(Shown):
    """The result of ``run_study``; ``run_folder`` describes the frames.

    Parameters
    ----------
    network : mapping
        The ``about`` of the network given for the agent; empty if the agent was trained.
    """

    whole: SimulationSet
    settings: Settings
    policies: tuple[SizingPolicy, ...]
    seeds: tuple[int, ...]
    table: pl.DataFrame
    summary: pl.DataFrame
    differences: pl.DataFrame
    containers: pl.DataFrame
    limits: pl.DataFrame
    training: pl.DataFrame | None
    models: Mapping[str, Model] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    sensitivity: pl.DataFrame | None = None
    network: Mapping[str, Any] = field(default_factory=dict)


def run_study(
    whole: SimulationSet,
    policies: Sequence[SizingPolicy],
    *,
    settings: Settings,
    seeds: Sequence[int],
    model: Model | None = None,
    checkpoints: Path | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Run every policy on the test chains of every seed, after training the agent.

    A seed determines the split of the chains, the order of placement, and the random numbers of
    training and of random selection. With a given model nothing is trained, and the test chains are
    those on which the model was not trained, for any seed.

    Parameters
    ----------
    checkpoints : path, optional
        The folder for checkpoints of trainings, so that an interrupted training continues.
    """
    rows: list[dict[str, object]] = []
    shown: list[pl.DataFrame] = []
    limits: list[pl.DataFrame] = []
    logs: dict[tuple[str, int], tuple[Epoch, ...]] = {}
    models: dict[str, Model] = {}
    facts: dict[str, int] = {}
    for seed in seeds:
        parts = _parts(whole, model, seed)
        for policy in policies:
            name, used = str(policy), model
            if isinstance(policy, Ddqn) and model is None:
                trained = _train(
                    parts, settings, policy, seed=seed, checkpoints=checkpoints, progress=progress
                )
                used = models[model_name(policy, seed)] = trained.model
                logs[name, seed] = trained.log
            simulation, row = _evaluate(parts, settings, policy, used, seed)
            rows.append({"seed": seed, "policy": name, **row})
            limits.append(_limits_of(simulation, name, seed))
            if seed == seeds[0]:
                shown.append(series_of(simulation, name, chosen_containers(parts.test)))
        facts = facts or _facts(whole, parts, settings)
    table = pl.DataFrame(rows)
    return Study(
        whole=whole,
        settings=settings,
        policies=tuple(policies),
        seeds=tuple(seeds),
        table=table,
        summary=summary(table),
        differences=differences(table),
        containers=pl.concat(shown),
        limits=pl.concat(limits),
        training=training_frame(logs) if logs else None,
        models=models,
        facts=facts,
        network={} if model is None else model.about,
    )


def _parts(whole: SimulationSet, model: Model | None, seed: int) -> Split:
    """Training and test chains of a seed; test containers are in the order of placement."""
    rng = np.random.default_rng([seed, 0])
    trained_on = set() if model is None else set(model.about.get("trained_on", ()))
    seen = np.array([container in trained_on for container in whole.containers])
    parts = _unseen(whole, seen) if seen.any() else split(whole, rng)
    return Split(parts.training, parts.test.take(rng.permutation(parts.test.size)))


def _unseen(whole: SimulationSet, seen: BoolArray) -> Split:
    """The chains on which the model was trained, and the other chains."""
    trained = np.unique(whole.chain[seen])
    others = np.setdiff1d(whole.chains(), trained)
    if not len(others):
        raise TracekitError(
            f"the model was trained on every chain of {whole.name}, none is left to test it on",
            hint="train with tracekit requests, which holds chains back, or test on another trace",
        )
    return Split(whole.of_chains(trained), whole.of_chains(others))


def _train(
    parts: Split,
    settings: Settings,
    policy: Ddqn,
    *,
    seed: int,
    checkpoints: Path | None,
    progress: Progress,
) -> Trained:
    checkpoint = None if checkpoints is None else checkpoints / f"{model_name(policy, seed)}.pt"
    return train(
        parts.training, settings, policy, seed=seed, checkpoint=checkpoint, progress=progress
    )


def model_name(policy: Ddqn, seed: int) -> str:
    """Return the file name of a trained model: seed and changed parameters, ``seed-0-gamma=0.9``.

    The name has no ``epochs`` and ``pretraining``, which are in the file.
    """
    plain = dataclasses.replace(policy, epochs=Ddqn.epochs, pretraining=Ddqn.pretraining)
    given = parameters.spell_all(plain, defaults=False)
    return f"seed-{seed}" + (f"-{given.replace(',', '-')}" if given else "")


def _evaluate(
    parts: Split, settings: Settings, policy: SizingPolicy, model: Model | None, seed: int
) -> tuple[Simulation, dict[str, float]]:
    simulation = Simulation(parts.test, settings)
    rng = np.random.default_rng([seed, 2])
    reward = simulate(simulation, policy, rng=rng, training=parts.training, model=model)
    return simulation, measures_of(simulation, reward=reward)


def _facts(whole: SimulationSet, parts: Split, settings: Settings) -> dict[str, int]:
    above = (whole.need > settings.largest).any(axis=(1, 2))
    return {
        **whole.facts,
        "training_containers": parts.training.size,
        "test_containers": parts.test.size,
        "test_nodes": len(Simulation(parts.test, settings).world.total),
        "containers_above_largest": int(above.sum()),
        "upstream_felt_percent": round(100 * upstream_felt(whole, settings.cycle_periods)),
    }


def with_epochs(policy: SizingPolicy, epochs: int | None) -> SizingPolicy:
    """Return an agent with ``epochs`` epochs and at most a tenth as many of pretraining.

    Another policy is returned unchanged, and so is an agent if ``epochs`` is None.
    """
    if epochs is None or not isinstance(policy, Ddqn):
        return policy
    pretraining = min(policy.pretraining, epochs // 10)
    return dataclasses.replace(policy, epochs=epochs, pretraining=pretraining)


def _limits_of(simulation: Simulation, policy: str, seed: int) -> pl.DataFrame:
    """The largest limit of each container: policy, seed, container, cores and GB."""
    largest = simulation.arrays.limits.max(axis=1)
    return pl.DataFrame(
        {
            "policy": policy,
            "seed": seed,
            "container": simulation.part.containers,
            "limit_cores": largest[:, 0],
            "limit_gb": largest[:, 1],
        }
    )


# The curve of a training, and the limits of a few containers.

#: Why a container is chosen, in the order of choice.
REASONS = ("CPU need varies most", "memory need varies most", "CPU need varies as most do")


def chosen_containers(part: SimulationSet) -> dict[str, int]:
    """Return positions of up to three containers to show, by the reason of their choice.

    Need varies most in CPU for the first and in memory for the second. The third is the median by
    variation in CPU.
    """
    spread = part.need.std(axis=1)
    by_cpu = np.argsort(-spread[:, 0], kind="stable")
    by_memory = np.argsort(-spread[:, 1], kind="stable")
    middle = by_cpu[np.argsort(abs(np.arange(part.size) - part.size // 2), kind="stable")]
    chosen: dict[str, int] = {}
    for reason, order in zip(REASONS, (by_cpu, by_memory, middle), strict=True):
        left = [int(at) for at in order if at not in chosen.values()]
        if left:
            chosen[reason] = left[0]
    return chosen


def series_of(simulation: Simulation, policy: str, chosen: dict[str, int]) -> pl.DataFrame:
    """Return a frame with need and limit of the chosen containers in every period."""
    return pl.concat([_one(simulation, policy, why, at) for why, at in chosen.items()])


def _one(simulation: Simulation, policy: str, why: str, at: int) -> pl.DataFrame:
    part, limits = simulation.part, simulation.arrays.limits[at]
    need = part.need[at]
    return pl.DataFrame(
        {
            "policy": policy,
            "container": part.containers[at],
            "chosen_for": why,
            "time_ms": part.times_ms,
            "need_cores": need[:, 0],
            "need_gb": need[:, 1],
            "limit_cores": limits[:, 0],
            "limit_gb": limits[:, 1],
            "overflow": (need > limits).any(axis=1),
        }
    )


#: Epochs of the moving mean and band.
WINDOW = 50


def training_frame(logs: Mapping[tuple[str, int], Sequence[Epoch]]) -> pl.DataFrame:
    """Return a row for each policy, seed and epoch, with moving means plus and minus one deviation.

    The window has the last 50 epochs of the same phase, and fewer at its beginning.
    """
    rows = [
        {"policy": policy, "seed": seed, **asdict(epoch)}
        for (policy, seed), log in logs.items()
        for epoch in log
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("loss").fill_nan(None))
    over = ["policy", "seed", "phase"]
    bands = []
    for name in ("reward", "overflow_share"):
        mean = pl.col(name).rolling_mean(WINDOW, min_samples=1).over(over)
        spread = pl.col(name).rolling_std(WINDOW, min_samples=1).fill_nan(0).fill_null(0).over(over)
        bands += [
            mean.alias(f"{name}_mean"),
            (mean - spread).alias(f"{name}_low"),
            (mean + spread).alias(f"{name}_high"),
        ]
    return frame.with_columns(*bands)


@dataclass(frozen=True)
class Variant:
    """A change of the settings or of the agent, which ``sensitivity`` tries."""

    title: str
    settings: Callable[[Settings], Settings] = lambda given: given
    agent: Callable[[Ddqn], Ddqn] = lambda given: given


def _setting(**changed: float | str) -> Variant:
    title = ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in changed.items())  # fmt: skip
    return Variant(title, settings=lambda given: dataclasses.replace(given, **changed))  # type: ignore[arg-type]


#: The values to which the result is most sensitive, changed in both directions if possible.
VARIANTS = (
    Variant("as chosen"),
    _setting(alpha0=0.25),
    _setting(alpha0=1.0),
    _setting(inertia_weight=0.25),
    _setting(inertia_weight=4.0),
    _setting(reward="printed"),
    Variant("exploration=1", agent=lambda given: dataclasses.replace(given, exploration=1.0)),
    Variant("backprop=off", agent=lambda given: dataclasses.replace(given, backprop="off")),
    _setting(node_scale=1.0),
)


def sensitivity(
    whole: SimulationSet,
    policies: Sequence[SizingPolicy],
    *,
    settings: Settings,
    seed: int,
    epochs: int,
    progress: Progress = SILENT,
) -> pl.DataFrame:
    """Run the policies under each of ``VARIANTS``, and return a row by variant and policy.

    The columns are ``variant``, ``epochs`` and those of ``Study.table``. Every variant is trained
    with the same epochs and one seed, so that rows are comparable with each other, but not with the
    main table. Another ``alpha0`` or form of the reward gives rewards another scale.
    """
    frames = []
    for variant in VARIANTS:
        progress.stage(f"sensitivity: {variant.title}")
        study: Study = run_study(
            whole,
            [_varied(policy, variant, epochs) for policy in policies],
            settings=variant.settings(settings),
            seeds=[seed],
            progress=progress,
        )
        names = [policy.name() for policy in study.policies]
        frames.append(
            study.table.with_columns(
                pl.lit(variant.title).alias("variant"),
                pl.lit(epochs, dtype=pl.Int64).alias("epochs"),
                pl.Series("policy", names),
            )
        )
    return pl.concat(frames).select("variant", "epochs", pl.exclude("variant", "epochs"))


def _varied(policy: SizingPolicy, variant: Variant, epochs: int) -> SizingPolicy:
    if not isinstance(policy, Ddqn):
        return policy
    return with_epochs(variant.agent(policy), epochs)
