"""Everything in one call: ingest, check, analyse, replay, report."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.crew import Alone, Crew, Workers
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Answer, Fact, answer_of, write_document
from tracekit.base.files.durable import LOCK, locked
from tracekit.base.files.places import place
from tracekit.base.files.result_folder import read_frame
from tracekit.base.progress import Progress
from tracekit.base.shown import Shown
from tracekit.base.study import BESIDE
from tracekit.commands._stages import RunningStages, under_way
from tracekit.report.sentences import document
from tracekit.synth import write as synthesize

if TYPE_CHECKING:
    from tracekit.answer.run_answer import Question
    from tracekit.base.study import Study
    from tracekit.cluster.source import WorkloadSource
    from tracekit.commands._stages import Stage
    from tracekit.policy.entrant import Entrants
    from tracekit.store.folder import Store

SYNTH = "synth:"
_AFTER_INGEST = "analysis and replays"
#: The names in a run's folder.
_STAGES = (
    "store",
    "analysis",
    "calls",
    "fit",
    "bound",
    "replay",
    "studies",
    "report.html",
    "trace",
    "answer.json",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class RunSummary(Shown):
    """The result of a whole run.

    Parameters
    ----------
    answer : Answer
        The answer of the run, as in ``out/answer.json``.
    """

    out: Path
    store: Path
    replay: Path | None
    report: Path
    defects: int
    answer: Answer


def run_all(
    source: str | Path,
    out: str | Path,
    *,
    policies: Entrants,
    repeats: int | None,
    repeats_up_to: int | None = None,
    assume: Sequence[str],
    seed: int,
    jobs: int | None,
    memory_limit_bytes: int,
    progress: Progress,
) -> RunSummary:
    """See ``tracekit.commands.run.run``."""
    out = Path(out)
    _check_out(out)
    with _alone_in(out):
        with _crew(jobs or os.cpu_count() or 1) as crew, contextlib.ExitStack() as opened:
            traces = _synthesize(str(source), out, seed, crew, progress)
            store = _stored(traces, out, memory_limit_bytes, crew, progress)
            lacking = _nothing_to_replay(store, assume)
            requests = functools.cache(functools.partial(_recommended, store, seed, progress))
            settings = _Settings(
                store, policies, repeats, repeats_up_to, assume, seed, out, requests
            )
            read = functools.cache(functools.partial(_read, settings, opened, progress))
            if not lacking and repeats != 1 and not (out / "report.html").exists():
                _first_answer(settings, read(), crew, progress)
            stages = _stages(store, traces, out, crew, alone=bool(lacking))
            with under_way(stages, crew, progress) as begun:
                fit = _fitted(begun, store, traces, out, progress)
                from tracekit.report.render import render  # loaded while others work

                answer = (
                    answer_of([Fact(kind="skipped", subject="replay", because=lacking, rank=1)])
                    if lacking
                    else _replayed(settings, read(), fit, crew, progress)
                )
        write_document(out, document(answer))
        progress.stage("report", then=f"open {out / 'report.html'}")
        from tracekit.replay.runs.replayer import forget  # the crew is not kept waiting

        shown = store.path if lacking else out / "replay"
        report = render(shown, out / "report.html", progress=progress)
        forget(out / "replay")
        return RunSummary(
            out=out,
            store=store.path,
            replay=None if lacking else out / "replay",
            report=report.path,
            defects=read_frame(out / "analysis" / "quality" / "ledger.parquet").height,
            answer=answer,
        )


@contextlib.contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Lock the folder against other runs; an empty new folder is removed at the end."""
    existed = out.exists()
    try:
        with locked(out / LOCK, busy=f"{out} is being written"):
            yield
    finally:
        if not existed:
            with contextlib.suppress(OSError):
                out.rmdir()


@contextlib.contextmanager
def _crew(jobs: int) -> Iterator[Crew]:
    """Processes of this machine, stopped at the end or at an error."""
    crew: Crew = Workers(jobs) if jobs > 1 else Alone()
    try:
        yield crew
    finally:
        crew.close()


def _stages(store: Store, traces: Path, out: Path, crew: Crew, *, alone: bool) -> list[Stage]:
    """The stages besides replays; ``alone`` where there are no replays."""
    from tracekit.commands._stages import AnalyzeStage, CallStage, FitStage  # as above

    stages: list[Stage] = [AnalyzeStage(store, out / "analysis")]
    if any(entry.rows for entry in store.manifest.parts("call")):
        stages.append(CallStage(store, out / "calls", crew.size if alone else 1))
    if any(entry.rows for entry in store.manifest.parts("container_usage")):
        stages.insert(0, FitStage(store, traces, out / "fit"))
    return stages


def _fitted(
    begun: RunningStages, store: Store, traces: Path, out: Path, progress: Progress
) -> Path | None:
    """The fit of this run, after its end; None if it has no cost of neighbours.

    The binding by the fit is begun.
    """
    from tracekit.commands._stages import BindStage, FitStage, identified  # as above

    if not begun.ended(FitStage.name):
        return None
    if not (out / FitStage.name).exists():
        progress.say("fit: the store has no use of containers that neighbours could raise")
        return None
    binding = BindStage(store, traces, out / FitStage.name, out / "bound")
    if binding.due():
        begun.begin(binding)
    return out / FitStage.name if identified(out / FitStage.name) else None


@dataclass(frozen=True)
class _Settings:
    """The settings of replays; see ``tracekit.commands.run.run``."""

    store: Store
    policies: Entrants
    repeats: int | None
    repeats_up_to: int | None
    assume: Sequence[str]
    seed: int
    out: Path
    requests: Callable[[], Study | None]


def _recommended(store: Store, seed: int, progress: Progress) -> Study | None:
    """The study of recommended requests; None where nothing can be recommended."""
    from tracekit.sizing.requests.study import recommended  # the crew is not kept waiting

    return recommended(store, seed=seed, called=str(store.path), progress=progress)


def _read(settings: _Settings, opened: contextlib.ExitStack, progress: Progress) -> WorkloadSource:
    """The workload, read once and shared by all processes until the run ends."""
    from tracekit.cluster.source import source_of  # the crew is not kept waiting
    from tracekit.commands._replaying import read_once  # the same

    progress.stage("reading the workload", then="replay")
    source = source_of(
        settings.store,
        None,
        assume=settings.assume,
        seed=settings.seed,
        calls=settings.policies.reads_calls,
    )
    return opened.enter_context(read_once(source, settings.out / "replay"))


def _replayed(
    settings: _Settings, source: WorkloadSource, fit: Path | None, crew: Crew, progress: Progress
) -> Answer:
    """Replay, count nodes and decide."""
    from tracekit.answer.run_answer import answer  # the crew is not kept waiting
    from tracekit.commands._replaying import replay_by  # the crew is not kept waiting
    from tracekit.policy.entrant import Entrants  # the same

    alone, every = crew.size == 1, settings.policies.words and not settings.policies.named
    progress.stage("replay" if alone else "replay, side by side with these", then="report")
    replay_by(
        None if alone else crew,
        settings.store,
        _with_reference(settings.policies),
        out=settings.out / "replay",
        seed=settings.seed,
        assume=settings.assume,
        repeats=settings.repeats,
        repeats_up_to=settings.repeats_up_to,
        repeat_policies=Entrants.of(["common"] if every and settings.repeats else []),
        follow=every,
        fit=fit,
        keep=True,  # interrupted in what follows, it need not replay again
        source=source,
        progress=progress,
    )
    progress.stage("how many nodes", then="report")
    return answer(_question(settings, source, fit), crew, progress)


def _first_answer(
    settings: _Settings, source: WorkloadSource, crew: Crew, progress: Progress
) -> None:
    """Write an answer and a report of one order of arrival, to be read while the run goes on.

    All replays are kept, and the rest of the run goes on from them.
    """
    from tracekit.answer.run_answer import answer, begin  # the crew is not kept waiting
    from tracekit.commands._replaying import replay_by  # the same
    from tracekit.policy.entrant import Entrants  # the same
    from tracekit.report.sentences import headline, short  # the same

    every = settings.policies.words and not settings.policies.named
    policies = _of_first_answer(Entrants.of(["common"]) if every else settings.policies)
    first = replace(settings, repeats=1, policies=policies)
    progress.stage("first answer", then=_AFTER_INGEST)
    question = _question(first, source, None, first=True)
    begun = begin(question, crew)
    from tracekit.report.render import render  # loaded while nodes are counted

    replay_by(
        None if crew.size == 1 else crew,
        settings.store,
        first.policies,
        out=first.out / "replay",
        seed=first.seed,
        assume=first.assume,
        repeats=1,
        keep=True,
        source=source,
        progress=progress,
    )
    first_answer = answer(question, crew, progress, begun)
    write_document(first.out, document(first_answer))
    shown, page = first.out / "replay", first.out / "report.html"
    report = render(shown, page, queries=False, progress=progress)
    progress.say(f"{report.path} can be read. {headline(first_answer)}")
    for one in first_answer.facts:
        if one.kind == "first_answer":
            progress.say(short(one))


def _of_first_answer(entrants: Entrants) -> Entrants:
    """The policies of a first answer, with the policy in use.

    Policies that place by a fit are left out, as there is no fit yet. ``random`` is left out unless
    it is named: no policy has to beat it in one order, and it is slow on a large cluster.
    """
    from tracekit.answer.intervals import RANDOM  # the crew is not kept waiting
    from tracekit.policy.entrant import with_fit  # the same

    entrants = entrants.also(entrants.in_use)
    chosen = tuple(
        one
        for one in entrants.chosen
        if (str(one) != RANDOM or RANDOM in entrants.names)
        and with_fit(one, Path("fit"), by_default=True) is one
    )
    return replace(entrants, chosen=chosen, named=chosen, words=False)


def _with_reference(entrants: Entrants) -> Entrants:
    """The policies, with the policy in use and ``random``, which every decision needs."""
    from tracekit.answer.intervals import RANDOM  # the crew is not kept waiting
    from tracekit.policy.entrant import parse_entrant  # the same

    return entrants.also(entrants.in_use, parse_entrant(RANDOM))


def _question(
    settings: _Settings, source: WorkloadSource, fit: Path | None, *, first: bool = False
) -> Question:
    """The question of a run: how many nodes are needed, and which policy is to run."""
    from tracekit.answer.run_answer import Question  # the crew is not kept waiting

    return Question(
        run=settings.out / "replay",
        studies=settings.out / BESIDE,
        source=source,
        policies=settings.policies,
        called=str(settings.store.path),
        requests=settings.requests,
        fit=fit,
        seed=settings.seed,
        first=first,
    )


def _check_out(out: Path) -> None:
    """Refuse a file, and a folder with files of anything but a run."""
    if out.is_file():
        raise TracekitError(f"{out} is a file, expected a folder for the results")
    others = (
        sorted(path.name for path in out.iterdir() if not _ours(path.name)) if out.exists() else []
    )
    if others:
        raise TracekitError(
            f"{out} holds other files than a run's: {others[0]}",
            hint="name a new folder: --out DIR",
        )


def _ours(name: str) -> bool:
    """Whether a run writes this name, or unfinished work under it."""
    return name in (*_STAGES, LOCK) or name.startswith(tuple(f".{stage}." for stage in _STAGES))


def _synthesize(source: str, out: Path, seed: int, crew: Crew, progress: Progress) -> Path:
    """The folder of the source; for ``synth:<preset>`` the trace is made up now."""
    if not source.startswith(SYNTH):
        return place(source)
    progress.stage("synthesize", then="ingest")
    preset = source.removeprefix(SYNTH)
    # 0: as many processes as are worth it and memory permits
    jobs = 1 if crew.size == 1 else 0
    synthesize(out / "trace", preset=preset, seed=seed, jobs=jobs, crew=crew, progress=progress)
    return out / "trace"


def _stored(
    traces: Path, out: Path, memory_limit_bytes: int, crew: Crew, progress: Progress
) -> Store:
    """The given store, or a store of the trace files under ``out``."""
    from tracekit.intake.ingest import ingest  # the crew is not kept waiting
    from tracekit.store.folder import is_store, open_store  # the same

    if is_store(traces):
        progress.stage(f"read {traces}", then=_AFTER_INGEST)
        return open_store(traces)
    progress.stage("ingest", then=_AFTER_INGEST)
    ingest(
        traces,
        out / "store",
        jobs=crew.size,
        memory_limit_bytes=memory_limit_bytes,
        crew=crew,
        progress=progress,
    )
    return open_store(out / "store")


def _nothing_to_replay(store: Store, assume: Sequence[str]) -> str:
    """What a store lacks for a replay, a cause of the fact ``skipped``; empty for nothing."""
    from tracekit.cluster.assembly.sizes import is_sized  # the crew is not kept waiting

    def holds(*tables: str) -> bool:
        return any(entry.rows for name in tables for entry in store.manifest.parts(name))

    if not is_sized(store):
        return "" if holds("container_usage") else "no_containers"
    if holds("node", "node_resource") or any(text.startswith("nodes=") for text in assume):
        return ""
    return "no_nodes"
