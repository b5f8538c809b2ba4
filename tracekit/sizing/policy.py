"""The interface of sizing policies, and the data they may know.

A policy is a frozen dataclass: its fields are its parameters, its class says where it comes from
and what it reads. ``start`` gives a sizer, which lives for one simulation and sets the limits of
the containers that are due.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.weights import Model
from tracekit.sizing.world.simset import Settings, SimulationSet
from tracekit.sizing.world.simulation import Simulation, View

Reads = Literal["served", "state", "profile", "ahead", "training", "model"]


@dataclass(frozen=True, kw_only=True)
class Given:
    """The data that a sizer may know before the first period.

    Parameters
    ----------
    containers : int
        How many there are to size.
    period_ms : int
    profile : float64, shape (containers, profile periods, 2), or None
        Needs recorded beforehand, for policies that read 'profile'.
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
    """Requests of services, arrays of shape (services, 2): cores and bytes; NaN where unknown.

    ``lower`` and ``upper`` are the bounds within which a request would be left as it is, of a
    policy that has some.
    """

    request: FloatArray
    lower: FloatArray | None = None
    upper: FloatArray | None = None


class Sizer(Protocol):
    """Decides for one simulation."""

    def size(self, view: View) -> FloatArray:
        """Wanted limits of the containers due, shape (due, 2): cores and GB.

        The environment rounds them up to sizes.
        """


@dataclass(frozen=True, kw_only=True)
class SizingPolicy:
    """Base of every sizing policy.

    Attributes
    ----------
    source : str
        Paper and section, upstream file and version, or that the rule is ours.
    reads : frozenset of {'served', 'state', 'profile', 'ahead', 'training', 'model'}
        What it looks at: use served so far, the agent's state, needs recorded beforehand, needs
        of the coming cycle (no real policy can), the history of other chains, or a network that
        was trained on them.
    """

    source: ClassVar[str]
    reads: ClassVar[frozenset[Reads]]

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def start(self, given: Given) -> Sizer:
        """A sizer for one simulation."""
        raise NotImplementedError

    def recommend(self, use: RecordedUse) -> Advice | None:  # noqa: ARG002 - most have none
        """One request for each service from its recorded use; None where that is not enough.

        A policy that reads 'ahead' is given the use by which it is judged.
        """
        return None

    def profile_periods(self) -> int:
        """How many first periods' needs it wants to know beforehand; 0 unless it reads them."""
        return 0

    @classmethod
    def name(cls) -> str:
        """The policy's public name: its file's."""
        return cls.__module__.rpartition(".")[2]

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
