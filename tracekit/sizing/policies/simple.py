"""Sizing by rules of a few lines, and by a trained network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.sizing.policies import Advice, Given, Reads, SizingPolicy, simulate
from tracekit.sizing.use import RecordedUse
from tracekit.sizing.weights import Model, greedy, one_step, values
from tracekit.sizing.world.simset import Settings
from tracekit.sizing.world.simulation import Simulation, View


@dataclass(frozen=True, kw_only=True)
class MinimumSelection(SizingPolicy):
    """Start with one core and 1 GB, and add one of both after each overflow; never shrink."""

    source: ClassVar[str] = "MS of the CTM21 analysis (Yao et al. 2023), section 3.2; sizes ours"
    reads: ClassVar[frozenset[Reads]] = frozenset({"served"})

    def start(self, given: Given) -> Growing:
        """Return a sizer with all containers at the smallest size."""
        return Growing(np.ones(given.containers), float(given.settings.largest.min()))


class Growing:
    """A sizer that gives as many cores as GB, and after an overflow one more of both."""

    def __init__(self, size: FloatArray, largest: float) -> None:
        self._size = size
        self._largest = largest

    def size(self, view: View) -> FloatArray:
        """Return each due container's present size, one more after an overflow, shape (due, 2)."""
        grown = self._size[view.due] + view.overflowed.any(axis=1)
        self._size[view.due] = np.minimum(grown, self._largest)
        return np.repeat(self._size[view.due, None], 2, axis=1)


@dataclass(frozen=True, kw_only=True)
class RandomSelection(SizingPolicy):
    """Size like minimum selection, but draw first sizes from its final ones on training chains."""

    source: ClassVar[str] = "MN of the CTM21 analysis (Yao et al. 2023), section 3.2"
    reads: ClassVar[frozenset[Reads]] = frozenset({"served", "training"})

    def start(self, given: Given) -> Growing:
        """Return a sizer whose first sizes are drawn from final ones of minimum selection.

        Minimum selection runs on the training chains.
        """
        if given.training is None:
            raise TypeError("random selection reads 'training'")
        largest = int(given.settings.largest.min())
        finals = Simulation(given.training, given.settings)
        simulate(finals, MinimumSelection(), rng=given.rng)
        sizes = finals.arrays.limit[:, 0].astype(np.int64)
        chances = shares(np.bincount(sizes, minlength=largest + 1)[1:])
        drawn = given.rng.choice(np.arange(1, largest + 1), size=given.containers, p=chances)
        return Growing(drawn.astype(np.float64), float(largest))


def shares(counts: IntArray) -> FloatArray:
    """Return each count divided by the sum of all counts."""
    return np.asarray(counts / np.sum(counts))


@dataclass(frozen=True, kw_only=True)
class PercentileRequest(SizingPolicy):
    """Request a percentile of the profile, i.e. of past use, plus a margin, as teams do.

    In a simulation the profile is the container's own needs in the first periods. Of the other
    policies only the oracle knows needs in advance. For recommendations from recorded use the
    profile is all use in the learning time.
    """

    source: ClassVar[str] = "common practice; percentile, margin and length of the profile are ours"
    reads: ClassVar[frozenset[Reads]] = frozenset({"profile"})

    percentile: Annotated[
        float, About("Percentile of the profile, 0..1.", minimum=0, maximum=1)
    ] = 0.95
    margin: Annotated[float, About("Share added to the percentile.", minimum=0)] = 0.15
    periods: Annotated[int, About("Length of the profile in periods.", minimum=1)] = 120

    def recommend(self, use: RecordedUse) -> Advice:
        """Return the percentile of all samples of each service's containers, plus the margin."""
        return Advice(use.quantiles(self.percentile)[:, :, 0] * (1 + self.margin))

    def profile_periods(self) -> int:
        """Return ``periods``, the length of the profile."""
        return self.periods

    def start(self, given: Given) -> Fixed:
        """Return a sizer with one fixed size for each container."""
        if given.profile is None:
            raise TypeError("percentile_request reads 'profile'")
        return Fixed(np.quantile(given.profile, self.percentile, axis=1) * (1 + self.margin))


class Fixed:
    """A sizer that wants the same limits for a container at every decision."""

    def __init__(self, wanted: FloatArray) -> None:
        self._wanted = wanted

    def size(self, view: View) -> FloatArray:
        """Return the fixed limits of the due containers, shape (due, 2)."""
        return self._wanted[view.due]


@dataclass(frozen=True, kw_only=True)
class ExponentialForecast(SizingPolicy):
    """Set limits to the exponentially weighted mean of use plus deviations and a margin.

    After an overflow the resource gets at least one core or GB more than before, as use does not
    show a need above the limit.
    """

    source: ClassVar[str] = (
        "exponentially weighted mean and variance (Finch 2009, section 9); the rule is ours"
    )
    reads: ClassVar[frozenset[Reads]] = frozenset({"served"})

    half_life_periods: Annotated[
        float, About("Periods after which a sample has half its weight.", minimum=0.1)
    ] = 20.0
    deviations: Annotated[float, About("Standard deviations above the mean.", minimum=0)] = 3.0
    margin: Annotated[float, About("Share added to the forecast.", minimum=0)] = 0.1

    def start(self, given: Given) -> Forecasting:
        """Return a sizer that has no samples of use yet."""
        return Forecasting(self, given.containers)


class Forecasting:
    """A sizer that keeps the weighted mean and variance of every container's use."""

    def __init__(self, policy: ExponentialForecast, containers: int) -> None:
        self._policy = policy
        self._weight = 1.0 - 0.5 ** (1.0 / policy.half_life_periods)
        self._mean = np.zeros((containers, 2))
        self._variance = np.zeros((containers, 2))
        self._seen = 0

    def size(self, view: View) -> FloatArray:
        """Return the forecast, after an overflow at least the limit plus 1, shape (due, 2)."""
        for use in view.served(self._seen).swapaxes(0, 1):
            self._add(use)
        policy, due = self._policy, view.due
        spread = policy.deviations * np.sqrt(self._variance[due])
        wanted = (self._mean[due] + spread) * (1 + policy.margin)
        return np.where(view.overflowed, np.maximum(wanted, view.limit + 1), wanted)

    def _add(self, use: FloatArray) -> None:
        weight = self._weight if self._seen else 1.0
        off = use - self._mean
        self._mean += weight * off
        # the first sample is the mean, and says nothing of the variance
        self._variance = (1 - weight) * (self._variance + weight * off * off)
        self._seen += 1


@dataclass(frozen=True, kw_only=True)
class Oracle(SizingPolicy):
    """Choose the smallest size that the next cycle does not overflow: a bound for real policies.

    In a single cycle no other size without overflow has a higher utilization. The oracle too
    overflows if a node has no room or a need is above the largest size. Its recommended request is
    the largest use of the judged time.
    """

    source: ClassVar[str] = "ours: perfect foresight of one cycle"
    reads: ClassVar[frozenset[Reads]] = frozenset({"ahead"})

    def start(self, given: Given) -> Foreseeing:  # noqa: ARG002 - the view has all that it reads
        """Return a sizer that reads the needs of the coming cycle."""
        return Foreseeing()

    def recommend(self, use: RecordedUse) -> Advice:
        """Return the largest use of each service's containers in the judged time."""
        return Advice(use.quantiles(1.0)[:, :, 0])


class Foreseeing:
    """A sizer that wants the largest need of the coming cycle."""

    def size(self, view: View) -> FloatArray:
        """Return the largest need of the coming cycle, shape (due, 2)."""
        return view.ahead()


@dataclass(frozen=True, kw_only=True)
class Ddqn(SizingPolicy):
    """Choose the size with the largest q value of a trained network (double deep Q-network).

    The network reads the state of the container, its upstreams and its node. Training uses the
    choice by upper bounds as printed (eq 10), the double target (eq 4), rewards credited to earlier
    decisions (eq 14), proportional prioritised replay, and Adam on the Huber loss.
    """

    source: ClassVar[str] = (
        "Yao et al., C.S.A. 2023 32(4), section 3: eqs 4-14; values not given there are ours"
    )
    reads: ClassVar[frozenset[Reads]] = frozenset({"state", "model"})

    mask: Annotated[
        Literal["fits", "step"],
        About("fits: any size with room; step: at most one core and one GB from the present."),
    ] = "fits"
    gamma: Annotated[float, About("Discount of the next state's value.", minimum=0, maximum=1)] = (
        0.95
    )
    exploration: Annotated[
        float,
        About(
            "c of the UCB choice. With 1, the plain reading of eq 10, the agent soon stops trying"
            " other sizes, as n grows to millions; 10 is ours.",
            minimum=0,
        ),
    ] = 10.0
    counts: Annotated[
        Literal["agent", "epoch"],
        About("Scope of n and n_a of the UCB choice: all of training, or an epoch."),
    ] = "agent"
    backprop: Annotated[
        Literal["root", "gamma", "off"],
        About("Rewards handed back by eq 14 (root), by gamma, or not at all."),
    ] = "root"
    backprop_steps: Annotated[int, About("Decisions that get a part of a reward.", minimum=1)] = 3
    learning_rate: Annotated[float, About("Adam's step.", minimum=1e-9)] = 1e-3
    batch: Annotated[int, About("Transitions in an update.", minimum=1)] = 64
    buffer: Annotated[int, About("Transitions in the memory.", minimum=64)] = 50_000
    start_after: Annotated[int, About("Transitions before the first update.", minimum=1)] = 1_000
    sync: Annotated[int, About("Updates between copies to the target network.", minimum=1)] = 200
    steps: Annotated[int, About("The most cycles of a container in an epoch.", minimum=1)] = 64
    epoch_containers: Annotated[
        int, About("The most containers of an epoch, from whole chains.", minimum=1)
    ] = 40
    pretraining: Annotated[
        int, About("Epochs on a small set of chains at the beginning.", minimum=0)
    ] = 100
    pretraining_chains: Annotated[int, About("Chains of the small set.", minimum=1)] = 30
    epochs: Annotated[int, About("Epochs on all training chains.", minimum=0)] = 1_000
    validate_every: Annotated[
        int,
        About(
            "Epochs between trials without exploration on the small set; the network of the best"
            " trial is the result. 0: no trials, the last network.",
            minimum=0,
        ),
    ] = 25

    def start(self, given: Given) -> Choosing:
        """Return a sizer that uses the trained network without exploration."""
        if given.model is None:
            raise TypeError("ddqn reads 'model'")
        return Choosing(self, given.model, given.settings)


class Choosing:
    """A sizer that chooses the size with the largest q value among the possible sizes."""

    def __init__(self, policy: Ddqn, model: Model, settings: Settings) -> None:
        self._policy, self._model = policy, model
        self._sizes = settings.sizes()

    def size(self, view: View) -> FloatArray:
        """Return the size with the largest q value for each due container, shape (due, 2)."""
        allowed = view.possible()
        if self._policy.mask == "step":
            allowed = one_step(allowed, view.limit, self._sizes)
        return self._sizes[greedy(values(self._model, view.state()), allowed)]
