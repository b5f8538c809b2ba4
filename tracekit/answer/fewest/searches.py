"""The searches of a study of the fewest nodes: one for each policy, side by side or one by one."""

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
from tracekit.answer.fewest import few_nodes
from tracekit.answer.fewest.bound import nodes_by_requests
from tracekit.answer.fewest.cluster import (
    Cluster,
    bound_to_zones,
    left_nodes,
    running_on,
    special_nodes,
    where_special_stay,
)
from tracekit.answer.fewest.facts import facts_of
from tracekit.answer.fewest.few_nodes import Ask, ByCrew, Here, Remembered, told_of
from tracekit.answer.fewest.found import Found
from tracekit.answer.fewest.limits import Limits, check_limits
from tracekit.answer.fewest.search import enough, fewest_nodes
from tracekit.answer.fewest.trials import LostZone, Trials, lost_zones
from tracekit.answer.intervals import RANDOM
from tracekit.base.crew import Crew, OnProgress
from tracekit.base.errors import TracekitError
from tracekit.base.progress import Task
from tracekit.base.seeds import stream
from tracekit.cluster.changed.multiplied import multiplied, scale_of
from tracekit.cluster.changed.on_nodes import barred_by
from tracekit.cluster.shared import shared
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent, parse_entrant
from tracekit.replay.chance.student import MATERIAL
from tracekit.replay.measures import of_workload
from tracekit.replay.runs import one as replays
from tracekit.replay.runs.one import replay_one
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.thresholds import Threshold, at_most


@dataclass(frozen=True)
class Asked:
    """What is asked of each policy; see ``tracekit.answer.fewest.study.shrink_cluster``."""

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
        self, policy: Entrant, asks: Callable[[Workload], Ask] | None = None, beside: int = 1
    ) -> Found:
        """The answer for one; ``asks`` says who replays a workload, this process if not given."""
        return fewest_nodes(
            _staying(self.source, self.scale, self.may_remove),
            policy,
            self.limits,
            repeats=self.repeats,
            by=self.by,
            asks=asks or (lambda load: Here(load, policy, self.seed)),
            beside=beside,
            may_wait=self.may_wait,
            # beside another's answer it is enough that all nodes are too few
            further=self.subject in {"", str(policy)},
            survive=self.survive,
        )

    def enough(
        self,
        policy: Entrant,
        counts: Sequence[int],
        asks: Callable[[Workload], Ask],
        beside: int = 1,
    ) -> list[bool]:
        """Whether so many nodes are enough, for the first orders of arrival, one count each."""
        load = _staying(self.source, self.scale, self.may_remove)
        orders, most = range(len(counts)), [min(one, load.nodes.count) for one in counts]
        bound = bound_to_zones(load) if self.survive else {}
        replays, survive = asks(load), self.survive
        tried = Trials(load, str(policy), self.limits, replays, orders, beside, survive, bound)
        return enough(tried, policy, most, by=self.by, may_wait=self.may_wait)


@dataclass(frozen=True)
class _Search:
    """The search of one policy; can be sent to another process."""

    asked: Asked
    policy: Sent

    def run(self, on_progress: OnProgress) -> Found:
        policy = self.policy.entrant

        def asks(load: Workload) -> Ask:
            return told_of(Here(load, policy, self.asked.seed), lambda: on_progress(0, 1, 0))

        return self.asked.of(policy, asks)


@dataclass(frozen=True)
class Today:
    """What comes of the cluster as it is when a zone is lost.

    Where production's placement is recorded, it holds up to then; the policy places anew what ran
    in the zone. Who waits with nothing lost may wait.
    """

    asked: Asked
    policy: Sent

    def run(self, _: OnProgress) -> tuple[LostZone, ...]:
        """Each zone lost by itself. Raises TracekitError without two zones."""
        load, policy, limits = (
            _loaded(self.asked.source),
            self.policy.entrant,
            self.asked.limits,
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
            Here(load, policy, self.asked.seed),
            range(self.asked.repeats),
            survive=True,
        )
        return lost_zones(tried, np.arange(load.nodes.count))


@dataclass(frozen=True)
class Known:
    """What is known before any search: the cluster, and what production came to on it."""

    source: WorkloadSource
    scale: float
    seed: int
    may_remove: tuple[str, ...]
    limits: tuple[Threshold, ...]
    policies: tuple[str, ...]
    survive: bool = False

    def run(self, _: OnProgress) -> tuple[Cluster, dict[str, Any], dict[str, Any] | None]:
        """The nodes, facts about the workload, and production's row where it is recorded.

        Raises TracekitError for limits that the workload cannot be held to, and where a zone is to
        be lost and there are not two.
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
    """Forget the workloads of an earlier study in this process: the store may hold others now."""
    _loaded.cache_clear()
    _scaled.cache_clear()
    _staying.cache_clear()
    nodes_by_requests.cache_clear()
    few_nodes.forget()
    replays.forget()


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
    asked: Asked, entrants: Mapping[str, Entrant], crew: Crew, kept: Path | None, task: Task
) -> dict[str, Callable[[], Found]]:
    """A search per policy, under way or to be done; each gives its answer, or raises."""
    if kept is None and (len(entrants) > 1 or crew.size == 1):
        return {
            name: crew.submit(_Search(asked, Sent(one)), _told(counted(task, name))).result
            for name, one in entrants.items()
        }
    search = functools.partial(_side_by_side, asked, crew=crew, kept=kept)
    return {
        name: functools.partial(search, one, done=counted(task, name))
        for name, one in entrants.items()
    }


def counted(task: Task, policy: str) -> Callable[[], None]:
    """What to call after each replay of a search: it says how many there were."""
    count = itertools.count(1)
    return lambda: task.advance(0, f"replay {next(count):,} of {policy}")


def ended(
    searches: Mapping[str, Callable[[], Found]], task: Task
) -> tuple[dict[str, Found], dict[str, TracekitError]]:
    """What each search found, and the problems of those that found nothing, by policy."""
    found, problems = {}, {}
    for name, search in searches.items():
        try:
            found[name] = search()
        except TracekitError as error:
            problems[name] = error
        task.advance(1, name)
    return found, problems


def _told(done: Callable[[], None]) -> OnProgress:
    """What a crew calls on the way."""
    return lambda *_: done()


def _side_by_side(
    asked: Asked, policy: Entrant, crew: Crew, kept: Path | None, done: Callable[[], None]
) -> Found:
    """One search, whose replays are done by all processes of a crew."""
    with asking(asked, policy, crew, kept, done) as asks:
        return asked.of(policy, asks, crew.size)


@contextlib.contextmanager
def asking(
    asked: Asked, policy: Entrant, crew: Crew, kept: Path | None, done: Callable[[], None]
) -> Iterator[Callable[[Workload], Ask]]:
    """Who replays a workload: all processes of a crew, which share it; kept replays are known."""
    with contextlib.ExitStack() as opened:
        several = crew.size > 1
        folder = kept or Path(opened.enter_context(TemporaryDirectory(prefix="tracekit-")))

        def asks(load: Workload) -> Ask:
            if several:
                at = folder / f"workload-{load.nodes.count}"
                source = opened.enter_context(shared(load, at))
                replays: Ask = ByCrew(crew, source, Sent(policy), asked.seed)
            else:
                replays = Here(load, policy, asked.seed)
            ask = told_of(replays, done)
            if kept is not None:
                ask = Remembered(ask, kept, load=load, policy=policy, seed=asked.seed)
            return ask

        yield asks


@dataclass(frozen=True)
class Rivals:
    """What a few replays tell of policies that a search would take a hundred replays for.

    Of six orders of arrival a difference is told from chance only where all have it of one sign
    (``replay.chance.student``). So one order in which a policy needs as many nodes ends the matter,
    and the first order is met alone.
    """

    asked: Asked
    crew: Crew
    kept: Path | None
    task: Task

    def fewer(self, rivals: Mapping[str, Entrant], usual: Found | None) -> dict[str, Entrant]:
        """Those that may need fewer nodes than a policy; all of them where that has no answer."""
        if usual is None:
            return dict(rivals)
        counts = [one - 1 for one in usual.by_order]
        return {name: one for name, one in rivals.items() if self._enough(one, counts, ends=False)}

    def as_random(self, found: Mapping[str, Found]) -> dict[str, int]:
        """The counts that are no less than those of placement at random, by 1 % and one node."""
        drawn = parse_entrant(RANDOM)
        most = {
            name: [one.nodes + max(ceil(MATERIAL * one.nodes), 1) - 1] * self.asked.repeats
            for name, one in found.items()
        }
        return {
            name: found[name].nodes
            for name, counts in most.items()
            if self._enough(drawn, counts, ends=True)
        }

    def _enough(self, policy: Entrant, counts: Sequence[int], *, ends: bool) -> bool:
        """Whether so many nodes are enough, in all orders; in any where one that holds ``ends``."""
        done = counted(self.task, str(policy))
        with asking(self.asked, policy, self.crew, self.kept, done) as asks:
            for orders in (counts[:1], counts):
                held = self.asked.enough(policy, orders, asks, self.crew.size)
                if ends in held:
                    return ends
        return not ends
