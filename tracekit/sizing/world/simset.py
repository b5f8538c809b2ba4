"""The simulation set: needs of containers in each period, and calls between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.words import counted
from tracekit.sizing.world.periods import CHANNELS, State, World


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Parameters of a sizing simulation; values that the study does not state are tracekit's."""

    cycle_periods: Annotated[int, About("Periods of a decision cycle (ours).", minimum=1)] = 10
    largest_cores: Annotated[int, About("Largest CPU limit; steps of one core.", minimum=1)] = 4
    largest_gb: Annotated[int, About("Largest memory limit; steps of one GB.", minimum=1)] = 4
    containers_per_node: Annotated[
        float, About("Containers per node: 225 containers on 11 nodes.", minimum=1)
    ] = 225 / 11
    node_scale: Annotated[
        float,
        About(
            "Size of nodes in multiples of (48 cores, 48 GB) and (32, 64), in turn. With 1 they"
            " cannot hold the needs of the trace at the study's density under any policy.",
            minimum=0.05,
        ),
    ] = 2.0
    nodes: Annotated[int, About("Number of nodes; 0: by containers_per_node.", minimum=0)] = 0
    reward: Annotated[
        Literal["reciprocal", "printed"],
        About("The term in the denominator: the reciprocal of R_container, or R_container."),
    ] = "reciprocal"
    alpha0: Annotated[float, About("Weight of the reward for keeping a limit.", minimum=0)] = 0.5
    inertia_weight: Annotated[
        float, About("Weight k of the kept cycles K in ln(k K + 1).", minimum=0)
    ] = 1.0
    beta0: Annotated[float, About("Constant in the denominator.", minimum=0)] = 0.1
    penalty: Annotated[float, About("C: the cost of an overflow.", minimum=0)] = 1.0
    gamma_use: Annotated[
        float, About("gamma 1-4: weight of mean and peak use of CPU and memory.", minimum=0)
    ] = 0.25
    gamma_g: Annotated[float, About("gamma 5: weight of the container's G.", minimum=0)] = 1.0
    gamma_node_g: Annotated[float, About("gamma 6: weight of the node's G.", minimum=0)] = 1.0
    gamma_node_d: Annotated[float, About("gamma 7: weight of the node's D.", minimum=0)] = 1.0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    @property
    def largest(self) -> FloatArray:
        """The largest limits, cores and GB."""
        return np.array([self.largest_cores, self.largest_gb], dtype=np.float64)

    @property
    def actions(self) -> int:
        """The number of sizes."""
        return self.largest_cores * self.largest_gb

    def sizes(self) -> FloatArray:
        """Return every size in cores and GB, shape (actions, 2), in the order of ``index_of``."""
        cores, memory = np.meshgrid(
            np.arange(1, self.largest_cores + 1), np.arange(1, self.largest_gb + 1), indexing="ij"
        )
        return np.stack([cores.ravel(), memory.ravel()], axis=1).astype(np.float64)

    def index_of(self, limits: FloatArray) -> IntArray:
        """Return positions of limits, shape (..., 2), in ``sizes()``.

        By default the position is 4 (c - 1) + (g - 1) for c cores and g GB.
        """
        whole = np.asarray(limits).astype(np.int64)
        return np.asarray(self.largest_gb * (whole[..., 0] - 1) + whole[..., 1] - 1)

    def fitted(self, wanted: FloatArray) -> FloatArray:
        """Round wanted amounts up to whole cores and GB, from 1 to the largest size."""
        # the tolerance keeps a forecast of two cores from becoming three by rounding
        return np.asarray(np.clip(np.ceil(np.asarray(wanted) - 1e-9), 1.0, self.largest))

    def coefficients(self) -> FloatArray:
        """Return the coefficients that ``periods.rewards`` takes, in its order."""
        return np.array(
            [
                self.alpha0,
                self.inertia_weight,
                self.beta0,
                self.penalty,
                self.gamma_use,
                self.gamma_g,
                self.gamma_node_g,
                self.gamma_node_d,
                float(self.reward == "printed"),
            ]
        )


#: The number of containers in the study's test set.
TEST_CONTAINERS = 170
#: The largest share of a set for the test.
TEST_SHARE = 0.3


@dataclass(frozen=True, kw_only=True)
class SimulationSet:
    """Containers on call chains with their needs and calls; no container is on two chains.

    Parameters
    ----------
    name : str
        The name of the store or folder.
    containers : tuple of str
    chain : int64, shape (containers,)
        The number of each container's chain.
    need : float64, shape (containers, periods, 2)
        Cores and GB.
    times_ms : int64, shape (periods,)
    edges : int64, shape (edges, 2)
        Positions of the calling and the called container.
    calls : float64, shape (edges, periods)
    facts : mapping of str to number
        Counts of filled and dropped rows, among others.
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
        """The number of containers."""
        return len(self.containers)

    @property
    def periods(self) -> int:
        """The number of periods."""
        return int(self.need.shape[1])

    def chains(self) -> IntArray:
        """Return the number of each chain, in ascending order."""
        return np.unique(self.chain)

    def of_chains(self, chains: IntArray) -> SimulationSet:
        """Return the containers of some chains as a set; its facts are those of the whole."""
        return self.take(np.flatnonzero(np.isin(self.chain, chains)))

    def take(self, chosen: IntArray) -> SimulationSet:
        """Return some containers as a set, with the edges between them."""
        place = np.full(self.size, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        ends = place[self.edges]
        inside = (ends >= 0).all(axis=1)
        return SimulationSet(
            name=self.name,
            containers=tuple(self.containers[at] for at in chosen),
            chain=self.chain[chosen],
            need=self.need[chosen],
            times_ms=self.times_ms,
            edges=ends[inside],
            calls=self.calls[inside],
            facts=self.facts,
        )


def upstream_felt(whole: SimulationSet, cycle_periods: int) -> float:
    """Return the share of cycles with a call from an upstream, among containers with an upstream.

    In other cycles the state of the upstreams (eqs 5 to 8) is 0.
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
    """A training part and a test part of a simulation set, which have no chain in common."""

    training: SimulationSet
    test: SimulationSet


def split(whole: SimulationSet, rng: np.random.Generator) -> Split:
    """Split a set by chains at random into a training part and a test part.

    The test part gets chains until it has 170 containers, as in the study, or 30 % of the set if
    that is less. Raises TracekitError for a set with fewer than two chains.
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


# The arrays of the compiled environment from a simulation set.

#: The two specifications of nodes before scaling; the study's table 5 is lost, and these are ours.
SPECIFICATIONS = ((48.0, 48.0), (32.0, 64.0))
#: The number of cycles in a state.
CYCLES_SEEN = 8


def nodes_for(settings: Settings, containers: int) -> int:
    """Return ``settings.nodes``; if that is 0, one node per ``containers_per_node`` containers."""
    # the tolerance gives 11 nodes for 225 containers in spite of rounding
    return settings.nodes or int(np.ceil(containers / settings.containers_per_node - 1e-9))


def build_world(part: SimulationSet, settings: Settings) -> World:
    """Return the fixed arrays for a part: its needs and calls, and nodes of alternating size.

    The throughput of a container is the larger number of incoming and outgoing calls, as the first
    container of a chain has no caller in the set.
    """
    count = nodes_for(settings, part.size)
    total = np.array([SPECIFICATIONS[n % 2] for n in range(count)]) * settings.node_scale
    order = np.argsort(part.edges[:, 1], kind="stable")
    ends = part.edges[order]
    first = np.searchsorted(ends[:, 1], np.arange(part.size + 1))
    calls = np.ascontiguousarray(part.calls[order])
    incoming, outgoing = np.zeros((2, part.size, part.periods))
    np.add.at(incoming, ends[:, 1], calls)
    np.add.at(outgoing, ends[:, 0], calls)
    return World(
        need=np.ascontiguousarray(part.need),
        first_edge=first.astype(np.int64),
        upstream=np.ascontiguousarray(ends[:, 0]),
        calls=calls,
        throughput=np.maximum(incoming, outgoing),
        total=total,
        first_fit=_first_fit_nodes(len(total)),
    )


def _first_fit_nodes(nodes: int) -> BoolArray:
    """Every other pair of nodes, for both specifications in both halves; or the first node."""
    return np.asarray(np.arange(nodes) // 2 % 2 == 0 if nodes > 2 else np.arange(nodes) == 0)


def fresh_state(world: World) -> State:
    """Return the state before placement; every other container is for nodes of first fit."""
    containers, periods = world.need.shape[:2]
    alternating = np.arange(containers) % 2 == 0
    halves = bool((~world.first_fit).any())
    return State(
        by_first_fit=alternating if halves else np.ones(containers, dtype=np.bool_),
        node=np.full(containers, -1, dtype=np.int64),
        limit=np.zeros((containers, 2)),
        allocated=np.zeros((len(world.total), 2)),
        began=np.zeros(containers, dtype=np.int64),
        cycles_unchanged=np.zeros(containers, dtype=np.int64),
        changed=np.zeros(containers, dtype=np.bool_),
        overflowed=np.zeros((containers, 2), dtype=np.bool_),
        served=_series(containers, periods),
        share=_series(containers, periods),
        node_share=_series(len(world.total), periods),
        limits=_series(containers, periods),
        history=np.zeros((containers, CHANNELS, CYCLES_SEEN)),
    )


def _series(rows: int, periods: int) -> FloatArray:
    return np.zeros((rows, periods, 2))


def check_room(world: World) -> None:
    """Raise TracekitError if the nodes cannot hold all containers at the smallest size."""
    room = int(np.floor(world.total.min(axis=1)).sum())
    if len(world.need) > room:
        raise TracekitError(
            f"{counted(len(world.need), 'container')} of the smallest size need more than"
            f" {len(world.total)}"
            f" nodes, which hold {room}",
            hint="set more nodes: --assume nodes=N, or fewer --assume containers_per_node=N",
        )
