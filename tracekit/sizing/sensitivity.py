"""How the result moves with what the study leaves open: one value changed, trained anew."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from tracekit.base.progress import SILENT, Progress
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.policy import SizingPolicy
from tracekit.sizing.study import Study, run_study, with_epochs
from tracekit.sizing.world.settings import Settings
from tracekit.sizing.world.simset import SimulationSet


@dataclass(frozen=True)
class Variant:
    """One change: of the settings, or of the agent."""

    title: str
    settings: Callable[[Settings], Settings] = lambda given: given
    agent: Callable[[Ddqn], Ddqn] = lambda given: given


def _setting(**changed: float | str) -> Variant:
    title = ", ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in changed.items())  # fmt: skip
    return Variant(title, settings=lambda given: dataclasses.replace(given, **changed))  # type: ignore[arg-type]


#: The values the result is most sensitive to, each to either side where it has two.
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
    """``variant``, ``epochs`` and the columns of ``Study.table``: one row per variant and policy.

    Every variant is trained with so many epochs and one seed, so rows compare with each other, and
    with the main table only as far as epochs go. The reward's scale moves with alpha0 and its form.
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
