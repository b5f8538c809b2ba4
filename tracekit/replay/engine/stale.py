"""Several schedulers, each of which decides on a view of the cluster that is out of date."""

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray
from tracekit.policy.schedulers import Schedulers
from tracekit.replay.engine.decision import WindowStart, decide, stands
from tracekit.replay.engine.placer import Clock
from tracekit.replay.engine.state import ReplayState


class StalePlacer:
    """Places container by container, by the schedulers in turn; see ``tracekit.policy.schedulers``.

    A decision counts once it is committed to the true state. It takes the plain way: no fast placer
    knows of views.
    """

    way = "plain, on views of several schedulers"

    def __init__(
        self,
        state: ReplayState,
        rng: np.random.Generator,
        clock: Clock,
        *,
        schedulers: Schedulers,
    ) -> None:
        self.latencies_s: list[float] = []
        self._state, self._rng, self._clock = state, rng, clock
        self._schedulers = schedulers
        turn = np.arange(state.workload.containers) % schedulers.number
        self._views = [_View(state, turn == one) for one in range(schedulers.number)]

    def place(self, indices: IntArray, times_ms: IntArray) -> None:
        """Decide for containers in this order, each by its scheduler."""
        for index, now in zip(indices.tolist(), times_ms.tolist(), strict=True):
            self._place(index, now)

    def changed(self, nodes: IntArray) -> None:
        """Schedulers learn it once they take a new view."""

    def _place(self, index: int, now: int) -> None:
        state, scheduler = self._state, index % self._schedulers.number
        view = self._views[scheduler]
        due = self._schedulers.view_ms(scheduler, now)
        if due > view.of_ms or not self._schedulers.cache_age_ms:
            view.renew(due, now)
        began = self._clock()
        node = self._decided(view, index, now)
        clash = node is not None and not self._stands(index, node, now)
        state.conflicts += clash
        if clash or (node is None and view.of_ms < now):
            view.renew(now, now)
            node = self._decided(view, index, now)
        self.latencies_s.append(self._clock() - began)
        if node is not None:
            state.start(index, node, now)
            view.start(index, node, now)

    def _decided(self, view: "_View", index: int, now: int) -> int | None:
        return decide(
            view.policy,
            view.snapshot(now),
            view.container(index),
            self._rng,
            open_nodes=view.open_nodes(index),
            window_start=view.window_start,
        )

    def _stands(self, index: int, node: int, now: int) -> bool:
        """Whether the node is open to the container, and has room for it, in truth."""
        state = self._state
        seen, container = state.snapshot(now), state.container(index)
        return stands(state.policy, seen, container, state.open_nodes(index), node)


class _View(ReplayState):
    """The cluster as one scheduler believes it to be.

    Use is measured for all schedulers together, and is as old as the policy says.

    Attributes
    ----------
    of_ms : int
        The time of which it is, but for the scheduler's own decisions since.
    """

    def __init__(self, truth: ReplayState, own: BoolArray) -> None:
        super().__init__(truth.workload, truth.policy, samples=truth.samples)
        self._truth, self._own = truth, own
        self.of_ms = int(np.iinfo(np.int64).min)
        self.window_start = WindowStart()

    def measure(self) -> None:
        """The true state takes samples."""
        self._truth.measure()

    def renew(self, of_ms: int, now: int) -> None:
        """Become what the cluster was at a time not long ago.

        Evictions since are seen, too: the record of the replay has the last place of a container
        alone.
        """
        truth, departure = self._truth, self.workload.departure_ms
        present = (truth.placed_ms >= 0) & (truth.placed_ms <= of_ms) & (departure > of_ms)
        present &= truth.running | (departure <= now)
        present |= self._own & truth.running
        gone = self.running & (~present | (self.node != truth.node))
        for index in np.flatnonzero(gone).tolist():
            self.stop(index)
        for index in np.flatnonzero(present & ~self.running).tolist():
            self.start(index, int(truth.node[index]), int(truth.placed_ms[index]))
        if self.lost is not None and truth.lost is not None:
            self.lost[:] = truth.lost
        self.of_ms = of_ms
