"""Recent samples of the use of nodes, and the samples that a policy may see."""

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.policy.view.usage import Reader, SeriesUsage


class Use:
    """The latest samples of the used fractions of CPU and memory of nodes, taken at a fixed step.

    Parameters
    ----------
    most_age_ms : int
        The age above which a sample does not count. Policies then decide as without measurements.
    samples : int
        The number of newest samples that are kept.
    """

    def __init__(self, most_age_ms: int = 300_000, samples: int = 1) -> None:
        self.most_age_ms, self._most_samples = most_age_ms, samples
        self._times: list[int] = []
        self._samples: list[FloatArray] = []
        self._column: dict[str, int] = {}
        self._nodes: tuple[str, ...] = ()
        self._shown: dict[range, SeriesUsage] = {}

    @property
    def newest_ms(self) -> int | None:
        """The time of the newest sample; None if there is none."""
        return self._times[-1] if self._times else None

    def age_ms(self, now_s: float) -> float:
        """Return the age of the newest sample; infinite if there is none."""
        return math.inf if self.newest_ms is None else now_s * 1000 - self.newest_ms

    def add(self, time_ms: int, fractions: Mapping[str, tuple[float, float]]) -> None:
        """Add a sample newer than all others: used fractions of CPU and memory by node."""
        for name in fractions:
            self._column.setdefault(name, len(self._column))
        row = np.full((len(self._column), 2), np.nan)
        for name, both in fractions.items():
            row[self._column[name]] = both
        self._times.append(time_ms)
        self._samples.append(row)
        del self._times[: -self._most_samples], self._samples[: -self._most_samples]
        self._shown.clear()
        if len(self._column) > 2 * len(fractions):
            self._forget(fractions)

    def seen(self, policy: Reader, now_ms: int, nodes: tuple[str, ...]) -> SeriesUsage:
        """Return the samples, of ``nodes`` in their order, that a policy reads at ``now_ms``."""
        steps = self._steps(policy, now_ms)
        if self._nodes is not nodes:
            self._nodes = nodes
            self._shown.clear()
        if steps not in self._shown:
            times, fractions = self._times[steps.start : steps.stop], self._of(steps, nodes)
            self._shown[steps] = SeriesUsage(fractions, times[-1] if times else None)
        return self._shown[steps]

    def document(self, policy: Reader, now_ms: int, nodes: tuple[str, ...]) -> dict[str, Any]:
        """Return the samples of ``seen`` as JSON for ``tracekit score``; null if not measured."""
        steps = self._steps(policy, now_ms)
        rows = self._of(steps, nodes).transpose(1, 0, 2).tolist()
        return {
            "times_ms": self._times[steps.start : steps.stop],
            "fractions": {
                node: [[None if math.isnan(one) else one for one in both] for both in of]
                for node, of in zip(nodes, rows, strict=True)
            },
        }

    def _steps(self, policy: Reader, now_ms: int) -> range:
        until = bisect_right(self._times, policy.metric_time_ms(now_ms))
        if not until or now_ms - self._times[until - 1] > self.most_age_ms:
            return range(0)
        return range(max(until - policy.metric_samples(), 0), until)

    def _of(self, steps: range, nodes: tuple[str, ...]) -> FloatArray:
        """Fractions of nodes at steps, shape (steps, nodes, 2); NaN where not measured."""
        columns = np.array([self._column.get(node, -1) for node in nodes], dtype=np.int64)
        values = np.full((len(steps), len(nodes), 2), np.nan)
        for at, step in enumerate(steps):
            row = self._samples[step]
            measured = (columns >= 0) & (columns < len(row))
            values[at, measured] = row[columns[measured]]
        return values

    def _forget(self, names_now: Mapping[str, object]) -> None:
        """Drop the columns of nodes that are not measured any more."""
        names = tuple(names_now)
        self._samples = list(self._of(range(len(self._samples)), names))
        self._column = {name: at for at, name in enumerate(names)}
