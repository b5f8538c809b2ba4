"""The answer of a run: nodes are counted for the policies that could be recommended, then decided.

``tracekit run`` calls it after its replays. Nodes are counted with requests as they are; where
requests come first, with those that ``requests`` recommends, too; where sizes are assumed, at half
and at twice the assumed size.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.answer.counts import Case, Count, best, counts_of, fewer_than
from tracekit.answer.decide import Choice, Evidence, choose, to_count
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.followed import LARGEST
from tracekit.answer.intervals import RANDOM
from tracekit.answer.nodes import drain_facts, special_facts
from tracekit.answer.production import ProductionUse, production_use
from tracekit.answer.requests import facts_of_requests
from tracekit.answer.run_facts import answer_run
from tracekit.base.crew.crew import Crew, OnProgress
from tracekit.base.facts import Answer, Fact
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study, write_study
from tracekit.cluster.requests.use_over_requested import request_changes
from tracekit.cluster.source import WorkloadSource
from tracekit.policy.entrant import parse_entrant, with_fit
from tracekit.replay.runs.kept import kept_folder
from tracekit.replay.runs.results import Results, results
from tracekit.sizing.requests.study import recommended
from tracekit.store.folder import open_store

#: Studies of a run, by the case that each is of.
FOLDERS = {"recorded": "fewest", "recommended": "fewest-recommended",
           "half_size": "fewest-half", "twice_size": "fewest-twice"}  # fmt: skip
REQUESTS = "requests"
#: Containers times nodes up to which a count is searched for: minutes, in one order of arrival.
LARGEST_ONCE = 2_000_000_000
#: The assumptions that are the size of a container.
_SIZES = ("request_cpu_cores", "request_memory_bytes")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a run asks.

    Parameters
    ----------
    run, studies : path
        The folder of its replays, and that of the studies beside it.
    source : WorkloadSource
        Where the workload is read.
    named : tuple of str
        Policies that the user spelled.
    addresses : mapping of str to str
        Policies of a user's own file, by their spelling, as another process finds them.
    in_use : str
        The policy that stands for production's scheduler.
    called : str
        The store as commands name it.
    repeats : int, optional
        Orders of arrival that nodes are counted in; without it as many as ``nodes`` takes.
    keep : bool
        Whether the replays of searches stay for the next call, which goes on from them.
    """

    run: Path
    studies: Path
    source: WorkloadSource
    named: tuple[str, ...]
    addresses: dict[str, str]
    in_use: str
    called: str
    fit: Path | None = None
    seed: int = 0
    repeats: int | None = None
    keep: bool = False

    def address(self, policy: str) -> str:
        """A policy as another process finds it: with its file and its fit."""
        one = parse_entrant(self.addresses.get(policy, policy))
        return (one if self.fit is None else with_fit(one, self.fit, unasked=True)).address()


@dataclass(frozen=True)
class Production:
    """What production comes to on all nodes; a task, as it reads the whole workload."""

    source: WorkloadSource

    def run(self, on_progress: OnProgress) -> ProductionUse:
        """Read the workload and look."""
        found = production_use(self.source.load())
        on_progress(1, 0, 0)
        return found


def answer(asked: Question, crew: Crew, progress: Progress = SILENT) -> Answer:
    """Count nodes and decide; writes the studies of a run.

    A study that an earlier run left is removed. Where the search is interrupted, its replays are
    kept, and the next call goes on from them.
    """
    for name in (*FOLDERS.values(), REQUESTS):
        shutil.rmtree(asked.studies / name, ignore_errors=True)
    found = results(asked.run)
    choice = choose(found, named=asked.named, in_use=asked.in_use)
    use = crew.submit(Production(asked.source), lambda *_: None).result()
    evidence = Evidence(
        results=found,
        choice=choice,
        counts={},
        today=use.today,
        ceiling=use.ceiling,
        broken=use.broken,
        use_over_requested=use.use_over_requested,
        cost_per_hour=use.cost_per_hour,
        unpriced=use.unpriced,
        currency=use.currency,
        assume=asked.source.assume,
        store=asked.called,
        run=str(asked.studies.parent),
        in_use=asked.in_use,
    )
    made_up = open_store(str(asked.source.store)).manifest.made_up
    facts = [Fact(kind="made_up", subject="trace")] if made_up else []
    if not _too_large(found):
        counting = _Counting(asked, found, choice, use, crew, progress)
        counts, more = counting.all(evidence)
        facts += more
        evidence = dataclasses.replace(evidence, counts=counts, varying=counting.varying)
    return answer_run(dataclasses.replace(evidence, facts=tuple(facts)))


def _size(found: Results) -> int:
    load = found.manifest["workload"]
    return int(load["containers"]) * int(load["nodes"])


def _too_large(found: Results) -> bool:
    return _size(found) > LARGEST_ONCE


@dataclass
class _Counting:
    """The searches of one run."""

    asked: Question
    found: Results
    choice: Choice
    use: ProductionUse
    crew: Crew
    progress: Progress
    varying: bool = True

    def all(self, evidence: Evidence) -> tuple[dict[str, Count], list[Fact]]:
        """The count to act on in each case, and facts of what stays and what to request."""
        counts: dict[str, Count] = {}
        facts: list[Fact] = []
        source = self.asked.source
        recorded = self._counted("recorded", source)
        acted = recorded
        self.varying = bool(recorded.about["repeats_cover"])
        facts += list(special_facts(recorded))
        self._take(counts, recorded, "recorded", source)
        if "policies_as_production" in recorded.frames:
            self._take(counts, recorded, "no_more_often", source)
        if evidence.requests_first is not None and not evidence.assumed:
            study = recommended(
                open_store(str(source.store)),
                seed=self.asked.seed,
                called=self.asked.called,
                progress=self.progress,
            )
            if study is not None:
                facts += facts_of_requests(study)
                self._write(study, REQUESTS)
                chosen = f"requests=sized:{self.asked.studies / REQUESTS}"
                changed = dataclasses.replace(source, assume=(*source.assume, chosen))
                acted = self._counted("recommended", changed)
                self._take(counts, acted, "recommended", changed)
                self._restarts(counts, changed)
        if evidence.assumed:
            given = self.found.manifest["workload"]["assumptions"]
            sized: tuple[tuple[Case, float], ...] = (("half_size", 0.5), ("twice_size", 2.0))
            for case, times in sized:
                assumed = {name: given[name] * times for name in _SIZES if name in given}
                # bytes are whole numbers, and are read as such
                sizes = [f"{n}={int(v) if v == int(v) else v}" for n, v in assumed.items()]
                changed = dataclasses.replace(source, assume=(*source.assume, *sizes))
                self._take(counts, self._counted(case, changed, repeats=1), case, changed)
        case = "recommended" if counts.get("recommended") else "recorded"
        facts += drain_facts(acted, counts.get(case))
        return counts, facts

    def _take(
        self, counts: dict[str, Count], study: Study, case: Case, source: WorkloadSource
    ) -> None:
        """Note the count to act on; another policy has to need fewer nodes than ``random``, too."""
        by_cost, in_use = study.about.get("least") == "cost", self.asked.in_use
        found = counts_of(study, case)
        one = best(found, in_use, by_cost=by_cost)
        usual = next((each for each in found if each.policy == in_use), None)
        if one is not None and one.policy != in_use and usual is not None:
            again = self._search(case, source, [RANDOM], repeats=len(one.by_order))
            drawn = next(iter(counts_of(again, case)), None)
            if drawn is not None and drawn.nodes and not fewer_than(drawn, [one], by_cost=by_cost):
                one = dataclasses.replace(usual, as_random=(one.policy, one.nodes or 0))
        # what production does with all of its nodes is no count of more
        if one is not None and (case != "no_more_often" or not one.added):
            counts[case] = one

    def _counted(self, case: Case, source: WorkloadSource, repeats: int | None = None) -> Study:
        """The study of one case: candidates in one order, the best and the one in use in all."""
        names = to_count(self.choice, named=self.asked.named, in_use=self.asked.in_use)
        large = _size(self.found) > LARGEST
        if large or repeats == 1:
            names, repeats = names[:1], 1
        elif self.asked.repeats is not None:
            names, repeats = names[:1], self.asked.repeats
        elif len(names) > 1:
            first = self._search(case, source, names, repeats=1)
            names = self._shortlist(counts_of(first, case))
        study = self._search(case, source, names, repeats=repeats)
        self._write(study, FOLDERS[case])
        return study

    def _shortlist(self, counts: Sequence[Count]) -> list[str]:
        """The policy in use, and the other one that needs the fewest nodes in one order."""
        held = [one for one in counts if one.nodes is not None and one.policy != self.asked.in_use]
        usual = next((one for one in counts if one.policy == self.asked.in_use), None)
        other = min(held, key=lambda one: one.nodes or 0, default=None)
        fewer = other is not None and (
            usual is None or usual.nodes is None or (other.nodes or 0) < usual.nodes
        )
        names = [self.asked.in_use] if usual is not None else []
        return [*names, other.policy] if fewer and other is not None else names

    def _search(
        self, case: Case, source: WorkloadSource, names: Sequence[str], *, repeats: int | None
    ) -> Study:
        folder = self.asked.studies / FOLDERS.get(case, FOLDERS["recorded"])
        kept = kept_folder(folder)
        try:
            return shrink_cluster(
                source,
                policies=[self.asked.address(name) for name in names],
                subject=names[0],
                repeats=repeats,
                seed=self.asked.seed,
                crew=self.crew,
                kept=kept,
                called=self.asked.called,
                progress=self.progress,
            )
        finally:
            if not self.asked.keep:
                shutil.rmtree(kept, ignore_errors=True)

    def _write(self, study: Study, name: str) -> None:
        self.asked.studies.mkdir(parents=True, exist_ok=True)
        write_study(study, self.asked.studies / name)

    def _restarts(self, counts: dict[str, Count], changed: WorkloadSource) -> None:
        """Add containers whose request changes to those that restart."""
        one = counts.get("recommended")
        if one is None or one.restarted is None:
            return
        task = _Restarts(self.asked.source, changed)
        more = self.crew.submit(task, lambda *_: None).result()
        counts["recommended"] = dataclasses.replace(one, restarted=max(one.restarted, more))


@dataclass(frozen=True)
class _Restarts:
    """How many containers request other amounts in another workload; a task."""

    source: WorkloadSource
    changed: WorkloadSource

    def run(self, on_progress: OnProgress) -> int:
        """Read both workloads."""
        on_progress(1, 0, 0)
        return int(request_changes(self.source.load(), self.changed.load()).sum())
