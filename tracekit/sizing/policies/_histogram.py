"""Decaying histograms of many containers at once, bucketed as the autoscaler's recommender does."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray

#: Each bucket is wider than the one before it by this share.
GROWTH = 0.05
#: A bucket that weighs less counts as empty.
EPSILON = 1e-4


class Buckets:
    """Bucket bounds: the first ``[0, first)``, each further one 5 % wider, up to ``largest``."""

    def __init__(self, first: float, largest: float) -> None:
        self._first = first
        last = np.log(largest * GROWTH / first + 1) / np.log(1 + GROWTH)
        self.count = int(np.ceil(last)) + 1
        powers = (1 + GROWTH) ** np.arange(self.count)
        self.starts: FloatArray = np.asarray(first * (powers - 1) / GROWTH, dtype=np.float64)

    def find(self, values: FloatArray) -> IntArray:
        """The bucket of each value; what is outside falls in the first or the last."""
        raw = np.log(np.maximum(values, 0.0) * GROWTH / self._first + 1) / np.log(1 + GROWTH)
        found = np.where(values < self._first, 0, raw.astype(np.int64))
        return np.minimum(found, self.count - 1)


class Histograms:
    """One decaying histogram per container: a sample loses half its weight in a half-life."""

    def __init__(self, containers: int, buckets: Buckets, half_life_ms: float) -> None:
        self.containers = containers
        self._buckets = buckets
        self._half_life_ms = half_life_ms
        self._weights = np.zeros((containers, buckets.count))

    def add(
        self, containers: IntArray, values: FloatArray, time_ms: FloatArray, weights: FloatArray
    ) -> None:
        """Add one sample to each of the containers, of its own time and weight.

        A container that is there several times gets a sample each time.
        """
        decayed = weights * np.exp2(time_ms / self._half_life_ms)
        np.add.at(self._weights, (containers, self._buckets.find(values)), decayed)

    def subtract(self, containers: IntArray, values: FloatArray, time_ms: FloatArray) -> None:
        """Take back a sample of weight 1 that was added before."""
        places = containers, self._buckets.find(values)
        left = self._weights[places] - np.exp2(time_ms / self._half_life_ms)
        self._weights[places] = np.where(left < EPSILON, 0.0, left)

    def percentile(self, containers: IntArray, share: float) -> FloatArray:
        """The end of the bucket in which the share of the weight is reached; 0 for no samples."""
        weights = self._weights[containers]
        there = weights >= EPSILON
        sums = np.cumsum(weights, axis=1)
        reached = (sums >= share * sums[:, -1:]) & there
        last = weights.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)
        bucket = np.where(reached.any(axis=1), np.argmax(reached, axis=1), last)
        ends = self._buckets.starts[np.minimum(bucket + 1, self._buckets.count - 1)]
        return np.where(there.any(axis=1), ends, 0.0)
