"""The searches of a study of the fewest nodes: one search for each policy."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tracekit.answer.admissible import WAITING
from tracekit.answer.fewest.bound import nodes_by_requests
from tracekit.answer.fewest.cluster import (
    Cluster,
    bound_to_zones,
    left_nodes,
    running_on,
    special_nodes,
    where_special_stay,
)
from tracekit.answer.fewest.frames import facts_of
from tracekit.answer.fewest.limits import Limits, check_limits
from tracekit.answer.fewest.outcome import Outcome
from tracekit.answer.fewest.replays import (
    CachedReplays,
    CrewReplays,
    LocalReplays,
    ReplayOn,
    counting,
)
from tracekit.answer.fewest.replays import forget as forget_loaded
from tracekit.answer.fewest.search import enough, fewest_nodes
from tracekit.answer.fewest.trials import LostZone, Trials, lost_zones
from tracekit.answer.intervals import RANDOM
from tracekit.base.arrays import stream
from tracekit.base.constants import MATERIAL
from tracekit.base.crew import Crew, OnProgress
from tracekit.base.errors import TracekitError
from tracekit.base.progress import Task
from tracekit.cluster.enlarged import multiplied, scale_of
from tracekit.cluster.on_nodes import barred_by
from tracekit.cluster.source import WorkloadSource, shared
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent, parse_entrant
from tracekit.replay.measures import of_workload
from tracekit.replay.runs.one import forget as forget_one
from tracekit.replay.runs.one import replay_one
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.thresholds import Threshold, at_most


@dataclass(frozen=True)
class Terms:
    """The settings that all searches of a study share.

    ``by`` and ``may_wait`` are those of ``fewest_nodes``. ``study.shrink_cluster`` describes the
    others.
    """

    source: WorkloadSource
    scale: float
    limits: Limits
    seed: int
    repeats: int
    by: str
    may_wait: bool
    may_remove: tuple[str, ...]
    subject: str
    survive: bool = False

    def of(
        self,
        policy: Entrant,
        replaying: Callable[[Workload], ReplayOn] | None = None,
        beside: int = 1,
    ) -> Outcome:
        """Search the fewest nodes for one policy; without ``replaying`` this process replays."""
        return fewest_nodes(
            _staying(self.source, self.scale, self.may_remove),
            policy,
            self.limits,
            repeats=self.repeats,
            by=self.by,
            replaying=replaying or (lambda load: LocalReplays(load, policy, self.seed)),
            beside=beside,
            may_wait=self.may_wait,
            # of a policy that is not the subject no added nodes are counted
            further=self.subject in {"", str(policy)},
            survive=self.survive,
        )

    def enough(
        self,
        policy: Entrant,
        counts: Sequence[int],
        replaying: Callable[[Workload], ReplayOn],
        beside: int = 1,
    ) -> list[bool]:
        """Return whether ``counts[i]`` nodes are enough in order of arrival i."""
        load = _staying(self.source, self.scale, self.may_remove)
        orders, most = range(len(counts)), [min(one, load.nodes.count) for one in counts]
        bound = bound_to_zones(load) if self.survive else {}
        replays, survive = replaying(load), self.survive
        tried = Trials(load, str(policy), self.limits, replays, orders, beside, survive, bound)
        return enough(tried, policy, most, by=self.by, may_wait=self.may_wait)


@dataclass(frozen=True)
class _Search:
    """The search of one policy, as a task for another process."""

    terms: Terms
    policy: Sent

    def run(self, on_progress: OnProgress) -> Outcome:
        policy = self.policy.entrant

        def replaying(load: Workload) -> ReplayOn:
            return counting(
                LocalReplays(load, policy, self.terms.seed), lambda: on_progress(0, 1, 0)
            )

        return self.terms.of(policy, replaying)


@dataclass(frozen=True)
class Today:
    """A worker's task: find what happens when each zone of the whole cluster is lost.

    Containers stay on their recorded nodes where these are recorded, and the policy places the
    containers of the lost zone anew. As many containers may wait as do without a loss.
    """

    terms: Terms
    policy: Sent

    def run(self, _: OnProgress) -> tuple[LostZone, ...]:
        """Return the effect of losing each zone. Raises TracekitError for fewer than two zones."""
        load, policy, limits = (
            _loaded(self.terms.source),
            self.policy.entrant,
            self.terms.limits,
        )
        if load.containers.recorded:
            pinned = (
                np.full(load.containers.count, -1)
                if load.rules.pinned is None
                else load.rules.pinned
            )
            at = np.where(load.containers.recorded_node >= 0, load.containers.recorded_node, pinned)
            load = replace(load, rules=replace(load.rules, pinned=at))
        as_usual = replace(limits, waiting=tuple(at_most(one, "base") for one in WAITING))
        tried = Trials(
            load,
            str(policy),
            as_usual,
            LocalReplays(load, policy, self.terms.seed),
            range(self.terms.repeats),
            survive=True,
        )
        return lost_zones(tried, np.arange(load.nodes.count))


@dataclass(frozen=True)
class Survey:
    """A worker's task: read the workload, check the limits, and measure production."""

    source: WorkloadSource
    scale: float
    seed: int
    may_remove: tuple[str, ...]
    limits: tuple[Threshold, ...]
    policies: tuple[str, ...]
    survive: bool = False

    def run(self, _: OnProgress) -> tuple[Cluster, dict[str, Any], dict[str, Any] | None]:
        """Return the cluster, facts about the workload, and production's row.

        The row is None where production's placement is not recorded. Raises TracekitError for a
        limit on something that the workload does not record, and for the loss of a zone where the
        workload has fewer than two zones.
        """
        load, given = _scaled(self.source, self.scale), _loaded(self.source)
        bound = bound_to_zones(load) if self.survive else {}
        names = tuple(of_workload(given))
        check_limits(self.limits, self.policies, measures=names, recorded=given.containers.recorded)
        production = parse_entrant(OBSERVED)
        observed = (
            replay_one(given, production, self.seed).row if given.containers.recorded else None
        )
        cluster = Cluster(
            load.nodes.ids,
            load.resources,
            load.nodes.capacity,
            load.nodes.price_per_hour,
            barred_by(given),
            len(left_nodes(load)),
            load.nodes.cordoned,
            running=running_on(given),
            special=special_nodes(load, self.may_remove),
            ceiling=load.rules.ceiling,
        )
        of_zones = {zone: dataclasses.asdict(one) for zone, one in bound.items()}
        return cluster, {**facts_of(load, given), "bound_to_zones": of_zones}, observed


def forget() -> None:
    """Clear the workloads cached in this process, as the store may have changed."""
    _loaded.cache_clear()
    _scaled.cache_clear()
    _staying.cache_clear()
    nodes_by_requests.cache_clear()
    forget_loaded()
    forget_one()


@functools.lru_cache(maxsize=1)
def _loaded(source: WorkloadSource) -> Workload:
    forget()  # a process holds the matrices of one workload at a time
    return source.load()


@functools.lru_cache(maxsize=1)
def _scaled(source: WorkloadSource, scale: float) -> Workload:
    return multiplied(_loaded(source), scale_of(scale), stream(source.seed, "replicas"))


@functools.lru_cache(maxsize=1)
def _staying(source: WorkloadSource, scale: float, may_remove: tuple[str, ...]) -> Workload:
    return where_special_stay(_scaled(source, scale), may_remove)


def begun(
    terms: Terms,
    entrants: Mapping[str, Entrant],
    crew: Crew,
    replays_folder: Path | None,
    task: Task,
) -> dict[str, Callable[[], Outcome]]:
    """Start a search for each policy, and return by policy a function that waits for its result.

    The function raises the error of a search that failed.
    """
    if replays_folder is None and (len(entrants) > 1 or crew.size == 1):
        return {
            name: crew.submit(_Search(terms, Sent(one)), _on_progress(counted(task, name))).result
            for name, one in entrants.items()
        }
    search = functools.partial(_side_by_side, terms, crew=crew, replays_folder=replays_folder)
    return {
        name: functools.partial(search, one, done=counted(task, name))
        for name, one in entrants.items()
    }


def counted(task: Task, policy: str) -> Callable[[], None]:
    """Return a function to call after each replay of a search; it shows the number of replays."""
    count = itertools.count(1)
    return lambda: task.advance(0, f"replay {next(count):,} of {policy}")


def ended(
    searches: Mapping[str, Callable[[], Outcome]], task: Task
) -> tuple[dict[str, Outcome], dict[str, TracekitError]]:
    """Return the results of searches, and the errors of those that failed, by policy."""
    outcomes, problems = {}, {}
    for name, search in searches.items():
        try:
            outcomes[name] = search()
        except TracekitError as error:
            problems[name] = error
        task.advance(1, name)
    return outcomes, problems


def _on_progress(done: Callable[[], None]) -> OnProgress:
    """A progress callback for a crew that calls ``done``."""
    return lambda *_: done()


def _side_by_side(
    terms: Terms, policy: Entrant, crew: Crew, replays_folder: Path | None, done: Callable[[], None]
) -> Outcome:
    """The result of one search, with the replays done by all processes of a crew."""
    with replaying_by(terms, policy, crew, replays_folder, done) as replaying:
        return terms.of(policy, replaying, crew.size)


@contextlib.contextmanager
def replaying_by(
    terms: Terms, policy: Entrant, crew: Crew, replays_folder: Path | None, done: Callable[[], None]
) -> Iterator[Callable[[Workload], ReplayOn]]:
    """Yield a function that makes, for a workload, the function that replays it on some nodes.

    With several workers the replays run in them. With ``replays_folder`` results are kept there.

    Parameters
    ----------
    done : function()
        Called after each replay.
    """
    with contextlib.ExitStack() as opened:
        several = crew.size > 1
        folder = replays_folder or Path(
            opened.enter_context(TemporaryDirectory(prefix="tracekit-"))
        )

        def replaying(load: Workload) -> ReplayOn:
            if several:
                at = folder / f"workload-{load.nodes.count}"
                source = opened.enter_context(shared(load, at))
                replays: ReplayOn = CrewReplays(crew, source, Sent(policy), terms.seed)
            else:
                replays = LocalReplays(load, policy, terms.seed)
            replay_on = counting(replays, done)
            if replays_folder is not None:
                replay_on = CachedReplays(
                    replay_on, replays_folder, load=load, policy=policy, seed=terms.seed
                )
            return replay_on

        yield replaying


@dataclass(frozen=True)
class Rivals:
    """Quick tests of which rivals may need fewer nodes, so that no other rival is searched.

    A test takes a few replays, a search takes hundreds. With six orders of arrival a difference is
    beyond chance only if it has the same sign in all orders (``replay.chance``). So a single order
    in which a rival needs as many nodes excludes it, and the first order is replayed alone.
    """

    terms: Terms
    crew: Crew
    replays_folder: Path | None
    task: Task

    def fewer(self, rivals: Mapping[str, Entrant], usual: Outcome | None) -> dict[str, Entrant]:
        """Return the rivals that may need fewer nodes than ``usual``; all if ``usual`` is None."""
        if usual is None:
            return dict(rivals)
        counts = [one - 1 for one in usual.by_order]
        return {name: one for name, one in rivals.items() if self._enough(one, counts, ends=False)}

    def as_random(self, outcomes: Mapping[str, Outcome]) -> dict[str, int]:
        """Return the policies that need as many nodes as random placement, each with its count.

        A policy needs fewer if its count is lower by 1 % and by one node.
        """
        drawn = parse_entrant(RANDOM)
        most = {
            name: [one.nodes + max(ceil(MATERIAL * one.nodes), 1) - 1] * self.terms.repeats
            for name, one in outcomes.items()
        }
        return {
            name: outcomes[name].nodes
            for name, counts in most.items()
            if self._enough(drawn, counts, ends=True)
        }

    def _enough(self, policy: Entrant, counts: Sequence[int], *, ends: bool) -> bool:
        """Whether ``counts`` nodes are enough in all orders; with ``ends`` in any order."""
        done = counted(self.task, str(policy))
        with replaying_by(self.terms, policy, self.crew, self.replays_folder, done) as replaying:
            for orders in (counts[:1], counts):
                held = self.terms.enough(policy, orders, replaying, self.crew.size)
                if ends in held:
                    return ends
        return not ends
