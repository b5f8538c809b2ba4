"""The interface of sizing policies, and the data that they may read; each is a class of this room.

A policy is a frozen dataclass: its fields are parameters, and its class states its source and what
it reads. ``start`` makes a sizer for one simulation, which sets the limits of due containers.
"""

import functools
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from tracekit.base import parameters, registry
from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.weights import Model
from tracekit.sizing.world.simset import Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation, View

Reads = Literal["served", "state", "profile", "ahead", "training", "model"]


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a sizing policy may know of a simulation before its first period; see ``start``.

    Parameters
    ----------
    containers : int
        The number of containers to size.
    period_ms : int
    profile : float64, shape (containers, profile periods, 2), or None
        Needs of the first periods, for policies that read 'profile'.
    training : SimulationSet, or None
        Other chains with their whole history, for policies that read 'training'.
    model : Model, or None
        A trained network, for policies that read 'model'.
    """

    containers: int
    period_ms: int
    settings: Settings
    rng: np.random.Generator
    profile: FloatArray | None = None
    training: SimulationSet | None = None
    model: Model | None = None


class Advice(NamedTuple):
    """Recommended requests, arrays of shape (services, 2): cores and bytes; NaN for none.

    The policy would leave a present request between ``lower`` and ``upper`` unchanged. Both are
    None for a policy without bounds.
    """

    request: FloatArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None


class Sizer(Protocol):
    """Decides limits of the containers of one simulation; ``SizingPolicy.start`` makes it."""

    def size(self, view: View) -> FloatArray:
        """Return the wanted limits of the due containers, shape (due, 2): cores and GB.

        A container is due when its cycle has ended. The simulation rounds up to whole cores and GB.
        """


@dataclass(frozen=True, kw_only=True)
class SizingPolicy:
    """A rule for the limits or requests of containers; base of every sizing policy.

    Attributes
    ----------
    source : str
        Paper and section, upstream file and version, or that the rule is ours.
    reads : frozenset of {'served', 'state', 'profile', 'ahead', 'training', 'model'}
        The data that it reads: use served so far, the agent's state, needs of the first periods,
        needs of the coming cycle (which no real policy has), the history of other chains, or a
        network trained on them.
    """

    source: ClassVar[str]
    reads: ClassVar[frozenset[Reads]]

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def start(self, given: Given) -> Sizer:
        """Return a sizer for one simulation."""
        raise NotImplementedError

    def recommend(self, use: RecordedUse) -> Advice | None:  # noqa: ARG002 - most have none
        """Return one request for each service from its recorded use.

        The result is None if the policy cannot recommend from recorded use alone. A policy that
        reads 'ahead' gets the use by which it is judged.
        """
        return None

    def profile_periods(self) -> int:
        """Return for how many first periods ``Given.profile`` has needs.

        The number is 0 unless the policy reads 'profile'.
        """
        return 0

    @classmethod
    def name(cls) -> str:
        """Return the public name: that of the class, or that of the file of a user's own policy."""
        return registry.name_of(cls)

    def __str__(self) -> str:
        spelled = parameters.spell_all(self, defaults=False)
        return f"{self.name()}[{spelled}]" if spelled else self.name()


def simulate(
    simulation: Simulation,
    policy: SizingPolicy,
    *,
    rng: np.random.Generator,
    training: SimulationSet | None = None,
    model: Model | None = None,
) -> float:
    """Run a simulation to its end with a policy's limits, and return the sum of its rewards.

    The policy gets only the data that it declares to read.
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


@functools.cache
def all_sizing_policies() -> dict[str, type[SizingPolicy]]:
    """Return the class of every sizing policy, by name."""
    return registry.subclasses(sys.modules[__name__], SizingPolicy)


def parse_sizing_policy(text: str) -> SizingPolicy:
    """Return the policy of a text ``NAME[param=value,...]``.

    ``str`` of the policy is the same text.
    """
    name, given = parameters.split(text)
    listing = "tracekit list sizing_policies"
    kind = registry.pick(all_sizing_policies(), name, "sizing policy", listing=listing)
    made = parameters.build(kind, f"policy {name}", given)
    if not isinstance(made, SizingPolicy):
        raise TypeError(name)
    return made


def parse_sizing_policies(
    texts: Iterable[str], every: Sequence[SizingPolicy]
) -> tuple[SizingPolicy, ...]:
    """Return the policies of texts, each once and in order; the text ``all`` gives ``every``.

    Raises TracekitError for an unknown name or parameter, and for no text.
    """
    spelled = [
        policy
        for text in texts
        for policy in (every if text == "all" else [parse_sizing_policy(text)])
    ]
    if not spelled:
        raise TracekitError(
            "no policy given", hint="--policy all, or tracekit list sizing_policies"
        )
    return tuple({str(policy): policy for policy in spelled}.values())
