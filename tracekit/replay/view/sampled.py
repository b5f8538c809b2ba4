"""The cluster at some sampling steps: what a measure may look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.arrays import BoolArray, FloatArray, IntArray
from tracekit.replay.workload.workload import Workload

Positions = NDArray[np.integer[Any]]


class Stretch(NamedTuple):
    """Steps between which no container moved.

    Parameters
    ----------
    steps : int
    containers, nodes : integers, shape (running,)
        Positions of the containers that ran, and of the node of each.
    """

    steps: int
    containers: Positions
    nodes: Positions


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """The cluster at some sampling steps: what a measure may look at.

    Parameters
    ----------
    stretches : sequence of Stretch
        Who ran where; their steps add up to those sampled.
    fractions : float64, shape (steps, nodes, 2)
        Use over capacity; background counts too.
    add_up : function() -> float64, shape (steps, nodes, 2)
        The use itself, in millicores and bytes.
    """

    load: Workload
    stretches: Sequence[Stretch]
    fractions: FloatArray
    add_up: Callable[[], FloatArray]

    @cached_property
    def used(self) -> FloatArray:
        """Millicores and bytes, shape (steps, nodes, 2)."""
        return self.add_up()

    @cached_property
    def capacity(self) -> FloatArray:
        """Millicores and bytes, shape (nodes, 2)."""
        return self.load.capacity[:, :2].astype(np.float64)

    @cached_property
    def overloaded(self) -> BoolArray:
        """Nodes that need more of some resource than they have, shape (steps, nodes)."""
        return np.asarray((self.fractions > 1.0).any(axis=-1))

    @cached_property
    def containers(self) -> IntArray:
        """Containers that run, shape (steps, nodes)."""
        return self._each(lambda one: np.bincount(one.nodes, minlength=self.load.nodes))

    @cached_property
    def containers_but_daemons(self) -> IntArray:
        """Containers that run and belong to no node, shape (steps, nodes)."""
        daemon = self.load.daemon
        if daemon is None:
            return self.containers
        return self._each(
            lambda one: np.bincount(one.nodes[~daemon[one.containers]], minlength=self.load.nodes)
        )

    @cached_property
    def requested(self) -> IntArray:
        """Requests of the containers that run, shape (steps, nodes, resources)."""
        return self._each(self._requested)

    def _requested(self, one: Stretch) -> IntArray:
        counted = np.zeros(self.load.capacity.shape, dtype=np.int64)
        np.add.at(counted, one.nodes, self.load.request[one.containers])
        return counted

    def _each(self, count: Callable[[Stretch], IntArray]) -> IntArray:
        counted = [(one.steps, count(one)) for one in self.stretches]
        return np.concatenate([np.broadcast_to(all_, (n, *all_.shape)) for n, all_ in counted])
