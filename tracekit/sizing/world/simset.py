"""The simulation set: what containers need in each period, and who calls whom how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError

#: Containers in the study's test set.
TEST_CONTAINERS = 170
#: No more of a set than this is held back for the test.
TEST_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class SimulationSet:
    """Containers on call chains, each chain with containers of its own.

    Parameters
    ----------
    name : str
        Where it comes from.
    containers : tuple of str
    chain : int64, shape (containers,)
    need : float64, shape (containers, periods, 2)
        Cores and GB.
    times_ms : int64, shape (periods,)
    edges : int64, shape (edges, 2)
        Positions of upstream and downstream.
    calls : float64, shape (edges, periods)
    facts : mapping of str to number
        What reading had to mend.
    """

    name: str
    containers: tuple[str, ...]
    chain: IntArray
    need: FloatArray
    times_ms: IntArray
    edges: IntArray
    calls: FloatArray
    facts: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of containers."""
        return len(self.containers)

    @property
    def periods(self) -> int:
        """Number of periods."""
        return int(self.need.shape[1])

    def chains(self) -> IntArray:
        """Numbers of the chains, ascending."""
        return np.unique(self.chain)

    def of_chains(self, chains: IntArray) -> SimulationSet:
        """The part with these chains only; facts are those of the whole."""
        return self.take(np.flatnonzero(np.isin(self.chain, chains)))

    def take(self, kept: IntArray) -> SimulationSet:
        """The part with these containers only, and the edges between them."""
        place = np.full(self.size, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        ends = place[self.edges]
        inside = (ends >= 0).all(axis=1)
        return SimulationSet(
            name=self.name,
            containers=tuple(self.containers[at] for at in kept),
            chain=self.chain[kept],
            need=self.need[kept],
            times_ms=self.times_ms,
            edges=ends[inside],
            calls=self.calls[inside],
            facts=self.facts,
        )


def upstream_felt(whole: SimulationSet, cycle_periods: int) -> float:
    """Share of cycles of containers with an upstream in which one of them calls; 0 without any.

    Only then the state of the upstreams, eqs 5 to 8, is anything but 0.
    """
    called = np.unique(whole.edges[:, 1])
    if not len(called):
        return 0.0
    starts = np.arange(0, whole.periods, cycle_periods)
    felt = np.zeros((whole.size, len(starts)), dtype=np.bool_)
    np.logical_or.at(felt, whole.edges[:, 1], np.add.reduceat(whole.calls, starts, axis=1) > 0)
    return float(felt[called].mean())


@dataclass(frozen=True)
class Split:
    """Training and test part; no chain, and so no container, is in both."""

    training: SimulationSet
    test: SimulationSet


def split(whole: SimulationSet, rng: np.random.Generator) -> Split:
    """Chains in random order: test until it has the study's 170 containers, or its share of all.

    Raises TracekitError for a set with fewer than two chains.
    """
    chains = rng.permutation(whole.chains())
    if len(chains) < 2:
        raise TracekitError(
            f"{whole.name} has {len(chains)} call chains, training and test need one each at least",
            hint="ingest more call graph files, or a larger synth preset",
        )
    wanted = min(TEST_CONTAINERS, TEST_SHARE * whole.size)
    sizes = np.array([(whole.chain == chain).sum() for chain in chains])
    count = int(np.clip(np.searchsorted(np.cumsum(sizes), wanted) + 1, 1, len(chains) - 1))
    return Split(whole.of_chains(chains[count:]), whole.of_chains(chains[:count]))
