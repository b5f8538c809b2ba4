"""Does the replays of a run in this process, several, or a cluster; keeps those done already."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from tracekit.base.crew.crew import Crew, LostWorkerError, each_done
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.source import Source
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent, halves
from tracekit.replay.runs.kept import DamagedReplayError, Kept, OtherLayoutError
from tracekit.replay.runs.one import Replayed, ReplayTask, in_order, replay_one


@dataclass(frozen=True)
class Planned:
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
        self, load: Workload, planned: Sequence[Planned], progress: Progress = SILENT
    ) -> list[Replayed]:
        """One replay for each plan, in their order; they are under way in any order."""
        done = self._known(planned, progress)
        waiting = {at: planned[at] for at, known in done.items() if known is None}
        if self._crew is not None and self._source is not None:
            found = self._elsewhere(waiting, progress)
        else:
            found = dict(self._here(load, waiting, progress))
        return [one for at in done if (one := found.get(at) or done[at]) is not None]

    def _known(self, planned: Sequence[Planned], progress: Progress) -> dict[int, Replayed | None]:
        """The kept replay of each plan; one that cannot be used is reported, and replayed again."""
        done: dict[int, Replayed | None] = dict.fromkeys(range(len(planned)))
        other = 0
        for at, plan in enumerate(planned if self._kept else ()):
            assert self._kept is not None  # noqa: S101 - as the line above saw
            try:
                done[at] = self._kept.get(plan.policy, plan.seed, plan.repeat)
            except DamagedReplayError as error:
                progress.stage(
                    f"{plan.policy} is replayed anew, what was kept of it is damaged: {error}"
                )
            except OtherLayoutError:
                other += 1
        if other:
            progress.stage(
                f"replays kept by another version of tracekit are done anew: {other:,} of them"
            )
        return done

    def _keep(self, plan: Planned, one: Replayed) -> Replayed:
        if self._kept is not None:
            self._kept.put(plan.policy, plan.seed, plan.repeat, one)
        return one

    def _here(
        self, load: Workload, waiting: Mapping[int, Planned], progress: Progress
    ) -> Iterator[tuple[int, Replayed]]:
        """One after the other, an order of arrival at a time."""
        many = _replays_of_each(waiting)
        own = {at: plan for at, plan in waiting.items() if not plan.repeat}
        for at, plan in own.items():
            policy = plan.policy
            with progress.task(str(policy), len(load.use.times_ms), "steps") as task:
                each = partial(task.advance, 1)
                one = replay_one(load, policy, plan.seed, each, replays=many[policy])
            yield at, self._keep(plan, one)
        others = sorted(waiting.keys() - own.keys(), key=lambda at: (waiting[at].repeat, at))
        ordered, repeat = load, 0
        with progress.task("other orders of arrival", len(others), "replays") as task:
            for at in others:
                plan, policy = waiting[at], waiting[at].policy
                if plan.repeat != repeat:
                    ordered, repeat = in_order(load, plan.seed), plan.repeat
                one = replay_one(ordered, policy, plan.seed, replays=many[policy])
                yield at, self._keep(plan, one.measures())
                task.advance(1, str(policy))

    def _elsewhere(self, waiting: Mapping[int, Planned], progress: Progress) -> dict[int, Replayed]:
        """Side by side, the longest first, so that none of them is left over at the end."""
        assert self._crew is not None  # noqa: S101 - as the caller saw
        assert self._source is not None  # noqa: S101 - same
        longest = sorted(waiting, key=lambda at: not halves(waiting[at].policy)[0].batched)
        source, found, many = self._source, {}, _replays_of_each(waiting)

        def task(plan: Planned) -> ReplayTask:
            policy = plan.policy
            return ReplayTask(source, Sent(policy), plan.seed, plan.repeat, many[policy])

        tasks = ((at, task(waiting[at])) for at in longest)
        with progress.task("replays", len(waiting), "replays") as shown:
            for at, future in each_done(self._crew, tasks):
                plan = waiting[at]
                found[at] = self._keep(plan, _result(future, plan))
                shown.advance(1, str(plan.policy))
        return found


def _replays_of_each(waiting: Mapping[int, Planned]) -> Mapping[Entrant, int]:
    return Counter(plan.policy for plan in waiting.values())


def _result(future: Future[Replayed], plan: Planned) -> Replayed:
    """A worker's result; if a worker dies under a user's own policy, the policy is named."""
    try:
        return future.result()
    except LostWorkerError as error:
        file = plan.policy.file
        if file is None:
            raise
        raise TracekitError(
            f"{file}: the process that replayed it ended ({error.what})",
            hint="a policy answers or raises an Exception; it does not end the program",
        ) from error
