"""Who does the replays of a run: this process, several, or a cluster; and what is done already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass

from tracekit.progress import SILENT, Progress
from tracekit.replay.entrant import Entrant, halves
from tracekit.replay.kept import DamagedReplayError, Kept
from tracekit.replay.one import Replayed, ReplayTask, in_order, replay_one
from tracekit.replay.source import Source
from tracekit.replay.workload import Workload
from tracekit.store.crew import Crew


@dataclass(frozen=True)
class Turn:
    """One replay to be done: a policy under a seed, and which order of arrival it meets.

    Order 0 is the workload's own; what is replayed in another gives measures alone.
    """

    policy: Entrant
    seed: int
    repeat: int = 0


class Replayer:
    """Does replays; the same ones come out whoever does them.

    Parameters
    ----------
    kept : Kept, optional
        Finished replays are put there, and taken from there.
    crew, source : optional
        Who does them, and where they read the workload; this process if not given.
    """

    def __init__(
        self,
        *,
        kept: Kept | None = None,
        crew: Crew | None = None,
        source: Source | None = None,
    ) -> None:
        self._kept = kept
        self._crew = crew
        self._source = source

    def replay(
        self, load: Workload, turns: Sequence[Turn], progress: Progress = SILENT
    ) -> list[Replayed]:
        """One replay for each turn, in their order; they are under way in any order."""
        done = {at: self._known(turn, progress) for at, turn in enumerate(turns)}
        waiting = {at: turns[at] for at, known in done.items() if known is None}
        if self._crew is not None and self._source is not None:
            found = self._elsewhere(waiting, progress)
        else:
            found = dict(self._here(load, waiting, progress))
        return [one for at in done if (one := found.get(at) or done[at]) is not None]

    def _known(self, turn: Turn, progress: Progress) -> Replayed | None:
        if self._kept is None:
            return None
        try:
            return self._kept.get(turn.policy, turn.seed, turn.repeat)
        except DamagedReplayError as error:
            progress.stage(
                f"{turn.policy} is replayed anew, what was kept of it is damaged: {error}"
            )
            return None

    def _keep(self, turn: Turn, one: Replayed) -> Replayed:
        if self._kept is not None:
            self._kept.put(turn.policy, turn.seed, turn.repeat, one)
        return one

    def _here(
        self, load: Workload, waiting: Mapping[int, Turn], progress: Progress
    ) -> Iterator[tuple[int, Replayed]]:
        """One after the other, an order of arrival at a time."""
        own = {at: turn for at, turn in waiting.items() if not turn.repeat}
        for at, turn in own.items():
            with progress.task(str(turn.policy), len(load.times_ms), "steps") as task:
                one = replay_one(load, turn.policy, turn.seed, lambda task=task: task.advance(1))  # type: ignore[misc]
            yield at, self._keep(turn, one)
        others = sorted(waiting.keys() - own.keys(), key=lambda at: (waiting[at].repeat, at))
        ordered, repeat = load, 0
        with progress.task("other orders of arrival", len(others), "replays") as task:
            for at in others:
                turn = waiting[at]
                if turn.repeat != repeat:
                    ordered, repeat = in_order(load, turn.seed), turn.repeat
                one = replay_one(ordered, turn.policy, turn.seed).measures()
                yield at, self._keep(turn, one)
                task.advance(1, str(turn.policy))

    def _elsewhere(self, waiting: Mapping[int, Turn], progress: Progress) -> dict[int, Replayed]:
        """Side by side, the longest first, so that none of them is left over at the end."""
        assert self._crew is not None  # noqa: S101 - as the caller saw
        assert self._source is not None  # noqa: S101 - same
        at_of: dict[Future[Replayed], int] = {}
        for at in sorted(waiting, key=lambda at: not halves(waiting[at].policy)[0].batched):
            turn = waiting[at]
            task = ReplayTask(self._source, turn.policy.address(), turn.seed, turn.repeat)
            at_of[self._crew.submit(task, lambda *_: None)] = at
        found = {}
        with progress.task("replays", len(waiting), "replays") as shown:
            for future in as_completed(at_of):
                turn = waiting[at_of[future]]
                found[at_of[future]] = self._keep(turn, future.result())
                shown.advance(1, str(turn.policy))
        return found
