"""The answer of a run: count nodes for the policies that may be recommended, then decide.

``tracekit run`` calls this after its replays. Nodes are counted with the recorded requests. Where
requests come first, nodes are counted with the recommended requests, too. Where sizes are assumed,
nodes are counted at half and at twice the assumed size, too.
"""

from __future__ import annotations

import dataclasses
import functools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.answer.counts import REQUESTS_AS, Case, Count, best, counts_of
from tracekit.answer.decide import Choice, Evidence, acted_on, choose, enough, to_count
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.answer.nodes import drain_facts, special_facts
from tracekit.answer.production import ProductionUse, production_use
from tracekit.answer.repeat import LARGEST, LARGEST_ONCE
from tracekit.answer.requests import facts_of_requests
from tracekit.answer.run_facts import answer_run
from tracekit.base.crew import Alone, Crew, OnProgress
from tracekit.base.facts import Answer, Fact
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study, write_study
from tracekit.cluster.request_table import request_changes
from tracekit.cluster.source import WorkloadSource
from tracekit.policy.entrant import Entrant, Entrants, Sent, with_fit
from tracekit.replay.chance import FEWEST
from tracekit.replay.runs.replayer import cache_folder
from tracekit.replay.runs.results import Results, results

#: The folder of a run's study, by case.
FOLDERS = {"recorded": "fewest", "recommended": "fewest-recommended",
           "half_size": "fewest-half", "twice_size": "fewest-twice"}  # fmt: skip
REQUESTS = "requests"
#: The assumptions on the size of a container.
_SIZES = ("request_cpu_cores", "request_memory_bytes")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a run asks: the replays to decide on, and how to count nodes.

    Parameters
    ----------
    run, studies : path
        The folder of the replays, and the folder in which studies of nodes are written.
    source : WorkloadSource
        The workload.
    policies : Entrants
        The policies of the replays, without production and the bound.
    called : str
        The store as commands name it.
    requests : callable
        Returns the study of recommended requests; None where nothing can be recommended.
    first : bool
        Whether a quick first answer is asked for: nodes are counted in one order of arrival, for
        the policy in use. The next call goes on from its replays.
    """

    run: Path
    studies: Path
    source: WorkloadSource
    policies: Entrants
    called: str
    requests: Callable[[], Study | None]
    fit: Path | None = None
    seed: int = 0
    first: bool = False

    @property
    def in_use(self) -> str:
        """The policy that stands for production's scheduler."""
        return str(self.policies.in_use)

    def entrant(self, policy: str) -> Entrant:
        """Return a policy of the run by its name, bound to the run's interference fit if any."""
        every = (*self.policies.chosen, self.policies.in_use)
        one = next(one for one in every if str(one) == policy)
        return one if self.fit is None else with_fit(one, self.fit, by_default=True)


@dataclass(frozen=True)
class Production:
    """A worker's task: measure the use of production's nodes."""

    source: WorkloadSource

    def run(self, _: OnProgress) -> ProductionUse:
        """Read the workload and measure production."""
        return production_use(self.source.load())


@dataclass(frozen=True)
class Begun:
    """Started work that needs no replay: production's use, and the count of a first answer.

    Parameters
    ----------
    use : function()
        Waits for the use of production's nodes, and returns it.
    recorded : function(), optional
        Waits for the study of the fewest nodes with recorded requests. None except for a first
        answer on a workload that is not very large.
    """

    use: Callable[[], ProductionUse]
    recorded: Callable[[], Study] | None


def begin(question: Question, crew: Crew) -> Begun:
    """Start the work that needs no replay; delete the studies of an earlier run."""
    for name in (*FOLDERS.values(), REQUESTS):
        shutil.rmtree(question.studies / name, ignore_errors=True)
    use = crew.submit(Production(question.source)).result
    if not question.first:
        return Begun(use, None)
    load = question.source.load()
    if load.containers.count * load.nodes.count > LARGEST_ONCE:
        return Begun(use, None)
    search = _search(question, "recorded", question.source, [question.in_use], repeats=1)
    return Begun(use, crew.submit(search).result)


def answer(
    question: Question, crew: Crew, progress: Progress = SILENT, begun: Begun | None = None
) -> Answer:
    """Return a run's answer: count nodes, write the studies, and decide.

    An interrupted search keeps its replays, and the next call goes on from them.
    """
    begun = begun or begin(question, crew)
    replays = results(question.run)
    choice = choose(replays, named=question.policies.names, in_use=question.in_use)
    use = begun.use()
    evidence = Evidence(
        results=replays,
        choice=choice,
        counts={},
        today=use.today,
        ceiling=use.ceiling,
        broken=use.broken,
        use_over_requested=use.use_over_requested,
        cost_per_hour=use.cost_per_hour,
        unpriced=use.unpriced,
        currency=use.currency,
        assume=question.source.assume,
        store=question.called,
        run=str(question.studies.parent),
        in_use=question.in_use,
    )
    store = question.source.store
    made_up = store is not None and store.manifest.made_up
    facts = [Fact(kind="made_up", subject="trace")] if made_up else []
    if not _too_large(replays):
        counting = _Counting(question, begun, replays, choice, crew, progress)
        try:
            counts, more = counting.all(evidence)
        finally:
            if not question.first:
                for name in FOLDERS.values():
                    shutil.rmtree(cache_folder(question.studies / name), ignore_errors=True)
        facts += more
        evidence = dataclasses.replace(evidence, counts=counts, varying=counting.varying)
    first = (
        (_first_fact(evidence, more_orders=_size(replays) <= LARGEST),) if question.first else ()
    )
    return answer_run(dataclasses.replace(evidence, first=first, facts=tuple(facts)))


def _first_fact(e: Evidence, *, more_orders: bool) -> Fact:
    """The fact that an answer is a first one, with the requests of its count."""
    count = acted_on(e)[1]
    return Fact(
        kind="first_answer",
        value=1,
        about={
            "requests_as": None if count is None else REQUESTS_AS[count.requests],
            "needed": FEWEST if more_orders and e.varying else None,
        },
    )


def _size(replays: Results) -> int:
    load = replays.manifest["workload"]
    return int(load["containers"]) * int(load["nodes"])


def _too_large(replays: Results) -> bool:
    return _size(replays) > LARGEST_ONCE


@dataclass
class _Counting:
    """The searches of one run."""

    question: Question
    begun: Begun
    replays: Results
    choice: Choice
    crew: Crew
    progress: Progress
    varying: bool = True

    def all(self, evidence: Evidence) -> tuple[dict[str, Count], list[Fact]]:
        """The count to act on in each case, and facts on special nodes, requests and drains."""
        counts: dict[str, Count] = {}
        source, facts = self.question.source, list[Fact]()
        requests = evidence.requests_first is not None and not evidence.assumed
        # policies other than the one in use are counted with the requests of the answer alone
        begun = self._begin("recorded", source, rivals=not requests)
        sized = self.question.requests() if requests else None
        if sized is not None:
            changed = self._with_requests(sized)
            acting = self._begin("recommended", changed, rivals=True)
        acted = recorded = self._ended("recorded", begun)
        if sized is not None:
            facts += facts_of_requests(sized)
            acted = self._ended("recommended", acting)
            self._take(counts, acted, "recommended")
            self._restarts(counts, changed)
        if requests and not enough(counts.get("recommended")):
            recorded = self._ended("recorded", self._begin("recorded", source, rivals=True))
        self.varying = bool(recorded.about["repeats_cover"])
        usual: dict[str, Count] = {}
        self._take(usual, recorded, "recorded")
        if "policies_as_production" in recorded.frames:
            self._take(usual, recorded, "no_more_often")
        counts = {**usual, **counts}
        # a first answer, whose replays are kept, leaves the other sizes to the rest of the run
        if evidence.assumed and not self.question.first:
            self._with_sizes(counts)
        case = "recommended" if counts.get("recommended") else "recorded"
        return counts, [*special_facts(recorded), *facts, *drain_facts(acted, counts.get(case))]

    def _with_sizes(self, counts: dict[str, Count]) -> None:
        """Count at half and at twice the assumed size, in one order of arrival."""
        given, source = self.replays.manifest["workload"]["assumptions"], self.question.source
        begun: dict[Case, Callable[[], Study]] = {}
        cases: tuple[tuple[Case, float], ...] = (("half_size", 0.5), ("twice_size", 2.0))
        for case, times in cases:
            assumed = {name: given[name] * times for name in _SIZES if name in given}
            # bytes are whole numbers, and are read as such
            sizes = [f"{n}={int(v) if v == int(v) else v}" for n, v in assumed.items()]
            begun[case] = self._begin(case, source.assuming(*sizes), repeats=1)
        for case, study in begun.items():
            self._take(counts, self._ended(case, study), case)

    def _take(self, counts: dict[str, Count], study: Study, case: Case) -> None:
        """Add the count to act on; a policy that is not in use has to beat ``random``, too."""
        end = "_as_production" if case == "no_more_often" else ""
        drawn = study.about.get(f"as_random{end}", {})
        candidates = [one for one in counts_of(study, case) if one.policy not in drawn]
        one = best(candidates, self.question.in_use, by_cost=study.about.get("least") == "cost")
        if one is not None and one.policy == self.question.in_use and drawn:
            fewest = min(drawn, key=lambda policy: drawn[policy])
            one = dataclasses.replace(one, as_random=(fewest, drawn[fewest]))
        # what production does with all of its nodes is no count of more
        if one is not None and (case != "no_more_often" or not one.added):
            counts[case] = one

    def _with_requests(self, sized: Study) -> WorkloadSource:
        """The workload with requests as recommended."""
        self._write(sized, REQUESTS)
        return self.question.source.assuming(f"requests=sized:{self.question.studies / REQUESTS}")

    def _begin(
        self,
        case: Case,
        source: WorkloadSource,
        repeats: int | None = None,
        *,
        rivals: bool = False,
    ) -> Callable[[], Study]:
        """Begin the study of one case; a call of the result waits for it.

        A search in one order of arrival can hardly replay side by side, so it has a process of its
        own. Any other search begins with the call, and uses all processes.

        Parameters
        ----------
        rivals : bool
            Whether other policies that may need fewer nodes are counted, too.
        """
        if case == "recorded" and self.begun.recorded is not None:
            return self.begun.recorded
        names = to_count(
            self.choice, named=self.question.policies.names, in_use=self.question.in_use
        )
        once = self.question.first or _size(self.replays) > LARGEST or repeats == 1
        counted = names if rivals and not once else names[:1]
        search = _search(self.question, case, source, counted, repeats=1 if once else None)
        if once:
            return self.crew.submit(search).result
        return functools.partial(search.by, self.crew, self.progress)

    def _ended(self, case: Case, begun: Callable[[], Study]) -> Study:
        study = begun()
        self._write(study, FOLDERS[case])
        return study

    def _write(self, study: Study, name: str) -> None:
        self.question.studies.mkdir(parents=True, exist_ok=True)
        write_study(study, self.question.studies / name)

    def _restarts(self, counts: dict[str, Count], changed: WorkloadSource) -> None:
        """Take containers whose request changes as restarted, where these are more."""
        one = counts.get("recommended")
        if one is None or one.restarted is None:
            return
        more = self.crew.submit(_Restarts(self.question.source, changed)).result()
        counts["recommended"] = dataclasses.replace(one, restarted=max(one.restarted, more))


@dataclass(frozen=True, kw_only=True)
class _Search:
    """The search of the fewest nodes under the first policy; the other policies are its rivals."""

    source: WorkloadSource
    policies: tuple[Sent, ...]
    subject: str
    repeats: int | None
    seed: int
    replays_folder: Path
    called: str

    def run(self, _: OnProgress) -> Study:
        """Search in this process."""
        return self.by(Alone(), SILENT)

    def by(self, crew: Crew, progress: Progress) -> Study:
        """Search, with the replays done by a crew."""
        first, *rivals = (one.entrant for one in self.policies)
        return shrink_cluster(
            self.source,
            policies=[first],
            subject=self.subject,
            rivals=rivals,
            repeats=self.repeats,
            seed=self.seed,
            crew=crew,
            replays_folder=self.replays_folder,
            called=self.called,
            progress=progress,
        )


def _search(
    question: Question,
    case: Case,
    source: WorkloadSource,
    policies: Sequence[str],
    *,
    repeats: int | None,
) -> _Search:
    """The search of one case, whose replays are kept beside its study."""
    return _Search(
        source=source,
        policies=tuple(Sent(question.entrant(one)) for one in policies),
        subject=policies[0],
        repeats=repeats,
        seed=question.seed,
        replays_folder=cache_folder(question.studies / FOLDERS[case]),
        called=question.called,
    )


@dataclass(frozen=True)
class _Restarts:
    """How many containers request other amounts in another workload; a task."""

    source: WorkloadSource
    changed: WorkloadSource

    def run(self, _: OnProgress) -> int:
        """Read both workloads."""
        return int(request_changes(self.source.load(), self.changed.load()).sum())
