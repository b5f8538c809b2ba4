"""Workload: nodes, containers in order of arrival, use over time, rules, and provenance."""

from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.cluster.checks import (
    all_sound,
    check_amounts,
    check_further,
    check_per_container,
    check_times,
    check_unique,
    check_usage,
)
from tracekit.cluster.parts import Containers, Nodes, Provenance, Rules, Use
from tracekit.cluster.resources import BASE, NONZERO_DEFAULT

#: The service of a container of which none is known.
UNKNOWN = "?"

#: So many steps of usage are looked at together.
_STEPS_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The input of a replay: five parts that fit together, which is checked when it is made.

    Parameters
    ----------
    resources : tuple of str
        Names of the columns of amounts; the first two are cpu_milli and memory_bytes.
    """

    name: str
    nodes: Nodes
    containers: Containers
    use: Use
    rules: Rules = field(default_factory=Rules)
    provenance: Provenance = field(default_factory=Provenance)
    resources: tuple[str, ...] = BASE

    def __post_init__(self) -> None:
        nodes, containers, use, rules = self.nodes, self.containers, self.use, self.rules
        check_unique("node", nodes.ids)
        check_unique("container", containers.ids)
        check_amounts(nodes.capacity, containers.request, self.resources, nodes.ids, containers.ids)
        check_times(containers.arrival_ms, containers.departure_ms, containers.ids)
        lengths = rules.lengths()
        if containers.exchangeable is not None:
            lengths["exchangeable"] = len(containers.exchangeable)
        check_per_container(containers.count, nodes.count, rules.pinned, lengths)
        if rules.constraints is not None:
            rules.constraints.check(containers.count, nodes.count)
        check_further(use.further, use.further_resources, use.values.shape, self.resources)
        self._check_usage()

    def _check_usage(self) -> None:
        """Check that use is known from each arrival on, or from the start if exchangeable."""
        containers, use = self.containers, self.use
        first = np.searchsorted(use.times_ms, containers.arrival_ms).astype(np.int32)
        if containers.exchangeable is not None:
            first[containers.exchangeable] = 0
        until = np.searchsorted(use.times_ms, containers.departure_ms).astype(np.int32)
        every = np.ones(self.nodes.count, dtype=np.bool_)
        for begin in range(0, len(use.times_ms), _STEPS_AT_ONCE):
            steps = slice(begin, begin + _STEPS_AT_ONCE)
            if all_sound(use.values[:, steps]) and all_sound(use.background[:, steps]):
                continue
            for step, now in enumerate(use.times_ms[steps].tolist(), begin):
                due = (first <= step) & (step < until)
                check_usage("container", containers.ids, due, use.at(step), now)
                check_usage("node", self.nodes.ids, every, use.background[:, step], now)

    def too_large(self) -> IntArray:
        """Containers whose request fits on no node, even an empty one; shape (found,)."""
        room = self.nodes.allocatable
        shapes, where = np.unique(self.containers.request, axis=0, return_inverse=True)
        fits = np.array([bool((room >= shape).all(axis=1).any()) for shape in shapes])
        return np.flatnonzero(~fits[where.reshape(-1)]) if len(shapes) else np.empty(0, np.int64)

    def present(self, step: int) -> BoolArray:
        """Which containers exist at a sampling step, shape (containers,)."""
        now = self.use.times_ms[step]
        return np.asarray(
            (self.containers.arrival_ms <= now) & (now < self.containers.departure_ms)
        )

    def present_but_daemons(self, step: int) -> BoolArray:
        """Which containers that are no daemons exist at a sampling step, shape (containers,)."""
        present = self.present(step)
        return present if self.rules.daemon is None else present & ~self.rules.daemon


def nonzero(request: IntArray, stated: BoolArray, resources: tuple[str, ...]) -> IntArray:
    """Requests with the scheduler's default where CPU or memory is not stated."""
    defaults = np.array([NONZERO_DEFAULT.get(name, 0) for name in resources], dtype=np.int64)
    return np.asarray(np.where(stated, request, defaults))
