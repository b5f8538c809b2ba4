"""Who does the replays of a run: this process, several, or a cluster; and what is done already."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, as_completed

from tracekit.progress import SILENT, Progress
from tracekit.replay.entrant import Entrant
from tracekit.replay.kept import DamagedReplayError, Kept
from tracekit.replay.one import Replayed, ReplayTask, replay_one
from tracekit.replay.source import Source
from tracekit.replay.workload import Workload
from tracekit.store.crew import Crew


class Replayer:
    """Does replays; the same ones come out whoever does them.

    Parameters
    ----------
    kept : Kept, optional
        Finished replays are put there, and taken from there.
    crew, source : optional
        Who does them, and where they read the workload; this process if not given.
    repeat : int
        Which order of arrival; 0 is the workload's own.
    """

    def __init__(
        self,
        *,
        kept: Kept | None = None,
        crew: Crew | None = None,
        source: Source | None = None,
        repeat: int = 0,
    ) -> None:
        self._kept = kept
        self._crew = crew
        self._source = source
        self._repeat = repeat

    def for_repeat(self, number: int) -> Replayer:
        """The same for another order of arrival."""
        return Replayer(kept=self._kept, crew=self._crew, source=self._source, repeat=number)

    def replay(
        self,
        load: Workload,
        policies: Sequence[Entrant],
        seed: int,
        progress: Progress = SILENT,
    ) -> list[Replayed]:
        """One replay for each policy, in their order."""
        done = {at: self._known(policy, seed, progress) for at, policy in enumerate(policies)}
        waiting = {at: policies[at] for at, known in done.items() if known is None}
        if self._crew is not None and self._source is not None:
            found = self._elsewhere(waiting, seed, progress)
        else:
            found = {at: self._here(load, policy, seed, progress) for at, policy in waiting.items()}
        return [one for at in done if (one := found.get(at) or done[at]) is not None]

    def _known(self, policy: Entrant, seed: int, progress: Progress) -> Replayed | None:
        if self._kept is None:
            return None
        try:
            return self._kept.get(policy, seed, self._repeat)
        except DamagedReplayError as error:
            progress.stage(f"{policy} is replayed anew, what was kept of it is damaged: {error}")
            return None

    def _keep(self, policy: Entrant, seed: int, one: Replayed) -> Replayed:
        if self._kept is not None:
            self._kept.put(policy, seed, self._repeat, one)
        return one

    def _here(self, load: Workload, policy: Entrant, seed: int, progress: Progress) -> Replayed:
        with progress.task(str(policy), len(load.times_ms), "steps") as task:
            one = replay_one(load, policy, seed, lambda: task.advance(1))
        return self._keep(policy, seed, one)

    def _elsewhere(
        self, waiting: dict[int, Entrant], seed: int, progress: Progress
    ) -> dict[int, Replayed]:
        assert self._crew is not None  # noqa: S101 - as the caller saw
        assert self._source is not None  # noqa: S101 - same
        at_of: dict[Future[Replayed], int] = {}
        for at, policy in waiting.items():
            task = ReplayTask(self._source, policy.address(), seed, self._repeat)
            at_of[self._crew.submit(task, lambda *_: None)] = at
        found = {}
        with progress.task("replays", len(waiting), "policies") as shown:
            for future in as_completed(at_of):
                policy = waiting[at_of[future]]
                found[at_of[future]] = self._keep(policy, seed, future.result())
                shown.advance(1, str(policy))
        return found
