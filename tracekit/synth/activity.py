"""How busy each service is over the day: daily curve, drift and bursts."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import BoolArray, FloatArray
from tracekit.synth import shapes
from tracekit.synth.presets import Preset
from tracekit.synth.seeds import Seeds

#: Of 1,043 services 27 % have bursts, 10.8 each in 12 h (slate-sim's count on the real trace).
BURSTY_SHARE = 0.27
BURSTS_PER_HOUR = 10.8 / 12
#: What is left of a burst in the minutes after it began.
BURST_DECAY = (1.0, 0.45, 0.15)
BURST_FACTORS = (2.2, 9.0)


def service_activity(preset: Preset, seeds: Seeds, *, steady: BoolArray) -> FloatArray:
    """Call rate relative to its mean over the trace, shape (services, minutes), all positive.

    ``steady``, shape (services,), marks services without bursts.
    """
    rng = seeds.stream("activity")
    count = preset.services
    hour = shapes.START_HOUR + np.arange(preset.minutes) / 60
    shift = rng.uniform(-1.0, 1.0, (count, 1))
    swing = rng.uniform(0.10, 0.35, (count, 1))
    drift = shapes.bounded(shapes.autoregressive(rng, count, preset.minutes, 0.95))
    activity = (1 + swing * shapes.daily(hour + shift)) * np.exp(0.05 * drift)
    activity *= _bursts(seeds.stream("bursts"), preset, steady)
    return np.asarray(activity / activity.mean(axis=1, keepdims=True))


def _bursts(rng: np.random.Generator, preset: Preset, steady: BoolArray) -> FloatArray:
    factor = np.ones((preset.services, preset.minutes))
    bursty = (shapes.strata(rng, preset.services) < BURSTY_SHARE) & ~steady
    low, high = np.log(BURST_FACTORS)
    for service in np.flatnonzero(bursty):
        count = 1 + rng.poisson(max(BURSTS_PER_HOUR * preset.hours - 1, 0))
        starts = rng.integers(5, preset.minutes - len(BURST_DECAY), size=count)
        for start, rise in zip(starts, np.exp(rng.uniform(low, high, size=count)), strict=True):
            for after, left in enumerate(BURST_DECAY):
                at = start + after
                factor[service, at] = max(factor[service, at], 1 + (rise - 1) * left)
    return factor
