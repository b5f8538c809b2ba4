"""The compiled placer: places many containers in one call of a policy's compiled kernel."""

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tracekit.base import registry
from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.jit import Direct
from tracekit.cluster.workload import Workload
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement.baselines import FirstFit
from tracekit.policy.placement.default_scheduler import DefaultScheduler
from tracekit.policy.placement.node_resources import BalancedAllocation
from tracekit.policy.placement.requested import Bra
from tracekit.policy.profile import Profile
from tracekit.replay.engine.placer import Clock
from tracekit.replay.engine.state import ReplayState
from tracekit.replay.fast import kernels, shapes_of
from tracekit.replay.fast.kernels import NO_BOUND, NO_PLACED, REQUESTED, Kernel
from tracekit.replay.fast.kernels._formula import (
    balance_kernel,
    bra_kernel,
    first_fit_kernel,
    formula_kernel,
)
from tracekit.replay.fast.kernels._weighted import default_kernel, weighted_kernel
from tracekit.replay.fast.placement_loop import place_all, update_nodes, update_terms
from tracekit.replay.fast.scanning import (
    Choice,
    Nodes,
    Shapes,
    empty_window,
    place_scanning,
)
from tracekit.replay.fast.search import STALE, UPDATES, Scorer, empty_index, workspace


class CompiledPlacer:
    """A placer that lets compiled code choose nodes, and commits them to the replay's state.

    Parameters
    ----------
    search : bool
        Whether compiled code may search an index of nodes (where the kernel has bounds), and may
        keep a tree of scores for consecutive containers of one shape. Without it every node is
        scored, by code that compiles sooner.
    """

    def __init__(
        self,
        state: ReplayState,
        rng: np.random.Generator,
        clock: Clock,
        kernel: Kernel,
        *,
        search: bool = True,
    ) -> None:
        load, amounts = state.workload, state.cluster.amounts
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock, self._kernel = state, rng, clock, kernel
        self._table = shapes_of(load)
        same = bool((load.containers.request == load.containers.nonzero_request).all())
        self._choice = Choice(
            indexed=search and _has_bound(kernel, load) and state.policy.tie == "first",
            sums=kernel.scored,
            prune=same or kernel.scored == REQUESTED,
            reservoir=state.policy.tie == "reservoir",
            window=kernel.window,
        )
        self.way = "search" if self._choice.indexed else "scan"
        self._window = empty_window(kernel.window, amounts)
        terms = self._terms(int(load.use.times_ms[0]))
        self._index = (
            empty_index(amounts[0], len(terms), kernel.views)
            if self._choice.indexed
            else empty_index(amounts[0, :, :1])
        )
        self._index.counts[UPDATES] = self._updates_of_unbuilt(0)
        self._nodes = Nodes(amounts, state.cluster.containers, np.zeros(load.nodes.count, np.bool_))
        self._work = workspace(load.nodes.count, self._index)
        self._shapes = Shapes(
            self._table.asks,
            self._parameters(),
            self._skipped(),
            np.zeros(len(self._table.first), np.bool_),
        )
        self._searches = search
        self._call = Direct(place_all if search else place_scanning)
        self._epoch: tuple[int, int | None] | None = None
        self._scorer = self._scorer_by(terms)

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for containers, in one compiled call for all that see the same measurements."""
        fixed = self._state.fixed(indices)
        if fixed is not None:
            for start, end in _stretches_of_equal(fixed):
                self._place_among_open(indices[start:end], times_ms[start:end])
            return
        for start, end in self._stretches(times_ms):
            self._place(indices[start:end], times_ms[start:end])

    def changed(self, nodes: IntArray) -> None:
        """Update nodes that containers left, or that others placed containers on."""
        self._shapes.refused[:] = False
        if self._kernel.recounts:
            update_terms(self._scorer, self._nodes, self._table.asks[0], nodes)
        elif self._kernel.placed is not None:
            self._epoch = None
        if self._choice.indexed:
            update_nodes(self._index, self._choice, self._nodes, self._scorer.terms, nodes)

    def _place(self, indices: IntArray, times_ms: IntArray) -> None:
        self._refresh(int(times_ms[0]), len(indices))
        nodes = np.empty(len(indices), dtype=np.int64)
        began = self._clock()
        self._call(
            self._scorer,
            *([self._index] if self._searches else []),
            self._choice,
            self._nodes,
            self._work,
            self._window,
            self._shapes,
            self._table.of[indices],
            self._rng,
            nodes,
        )
        spent = self._clock() - began
        self.latencies_s.extend([spent / len(indices)] * len(indices))
        self._state.commit(indices, nodes, times_ms)

    def _place_among_open(self, indices: IntArray, times_ms: IntArray) -> None:
        """Place containers that have the same open nodes."""
        open_nodes = self._state.open_nodes(int(indices[0]))
        if open_nodes is None:
            # no node is closed any more
            self._nodes.blocked[:] = False
        else:
            np.logical_not(open_nodes, out=self._nodes.blocked)
        self._shapes.refused[:] = False
        for start, end in self._stretches(times_ms):
            self._place(indices[start:end], times_ms[start:end])

    def _stretches(self, times_ms: IntArray) -> Iterator[tuple[int, int]]:
        """Start and end of stretches of containers that see the same measurements."""
        if self._kernel.terms is None:
            yield 0, len(times_ms)
            return
        epochs = [self._state.usage_epoch(now) for now in times_ms.tolist()]
        start = 0
        for at in range(1, len(epochs) + 1):
            if at == len(epochs) or epochs[at] != epochs[start]:
                yield start, at
                start = at

    def _refresh(self, now: int, containers: int) -> None:
        """Compute the terms again when there are new measurements, and invalidate the index.

        The new index is built at once where enough containers will search it.
        """
        if self._kernel.terms is not None and self._epoch != self._state.usage_epoch(now):
            self._epoch = self._state.usage_epoch(now)
            self._scorer = self._scorer_by(self._terms(now))
            self._index.counts[UPDATES] = self._updates_of_unbuilt(containers)

    def _updates_of_unbuilt(self, containers: int) -> int:
        """The initial count of updates of an index that is not built, see ``STALE``."""
        return STALE if containers > -STALE else -1

    def _terms(self, now: int) -> FloatArray:
        """The kernel's terms of measured usage, shape (terms, nodes)."""
        if self._kernel.terms is None:
            return np.zeros((0, self._state.workload.nodes.count))
        return self._kernel.terms(self._state.snapshot(now))

    def _scorer_by(self, terms: FloatArray) -> Scorer:
        kernel = self._kernel
        return Scorer(
            score=kernel.score,
            bound=kernel.bound or NO_BOUND,
            placed=kernel.placed or NO_PLACED,
            follows=kernel.placed is not None,
            parameters=kernel.parameters,
            terms=np.ascontiguousarray(terms),
            floats=kernel.floats,
        )

    def _skipped(self) -> BoolArray:
        """The shapes that the policy skips, bool, shape (shapes,); amounts alone decide that."""
        state, now = self._state, int(self._state.workload.use.times_ms[0])
        seen = state.snapshot(now)
        skipped = [state.policy.skips(seen, state.container(at)) for at in self._table.first]
        return np.array(skipped, dtype=np.bool_)

    def _parameters(self) -> FloatArray:
        """The kernel's parameters for each shape, (shapes, numbers); empty without a window."""
        each, common = self._kernel.each, self._kernel.parameters
        if not self._kernel.window:
            return np.zeros((0, 0))
        if each is None:
            return np.tile(common, (len(self._table.first), 1))
        seen = self._state.snapshot(int(self._state.workload.use.times_ms[0]))
        own = [each(seen, self._state.container(at)) for at in self._table.first]
        return np.array([[*row, *common] for row in own], dtype=np.float64)


def _has_bound(kernel: Kernel, load: Workload) -> bool:
    """Whether the kernel has a bound that holds for this workload."""
    if kernel.bound is None or load.nodes.reserved is None:
        return kernel.bound is not None
    return not load.nodes.reserved[:, list(kernel.whole)].any()


def _stretches_of_equal(fixed: IntArray) -> list[tuple[int, int]]:
    """Start and end of stretches of equal numbers; each -1 is a stretch of its own."""
    cuts = 1 + np.flatnonzero((np.diff(fixed) != 0) | (fixed[1:] < 0))
    return list(itertools.pairwise([0, *cuts.tolist(), len(fixed)]))


#: Makers of kernels by the class of a policy.
_MAKERS: Mapping[type[PlacementPolicy], Callable[..., Kernel | None]] = {
    FirstFit: first_fit_kernel,
    Bra: bra_kernel,
    BalancedAllocation: balance_kernel,
    DefaultScheduler: default_kernel,
}


def find_kernel(
    policy: PlacementPolicy, resources: Sequence[str], allocatable: IntArray
) -> Kernel | None:
    """Return the kernel of a policy on nodes of these sizes; None where the policy has none.

    The kernel of a policy with a formula is made of the formula, and the kernel of a weighted
    profile of the kernels of its parts. Other kernels have a module of the policy's name, which is
    imported only here, because importing a kernel compiles it.
    """
    if isinstance(policy, Profile):
        return weighted_kernel(policy, lambda part: find_kernel(part, resources, allocatable))
    formula = policy.score_formula()
    if formula is not None:
        # the plain placer raises the error for a missing resource
        if policy.lacks_resources(formula) or not policy.scores_by_formula():
            return None
        return formula_kernel(policy, formula, resources, allocatable)
    make = _MAKERS.get(type(policy))
    if make is None and policy.name() in registry.module_names(kernels):
        make = importlib.import_module(f"{kernels.__name__}.{policy.name()}").make
    kernel: Kernel | None = None if make is None else make(policy, resources, allocatable)
    return kernel
