"""A replay with its workload, policies and orders of arrival, and its run folder."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from tracekit.answer.decide import choose
from tracekit.answer.intervals import RANDOM
from tracekit.answer.repeat import repeat_replay
from tracekit.answer.run_facts import answer_replays
from tracekit.base.crew import Crew, Workers
from tracekit.base.errors import TracekitError
from tracekit.base.facts import write_document
from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.cluster.on_nodes import check_feasible
from tracekit.cluster.source import WorkloadSource, shared, source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import (
    Entrant,
    Entrants,
    Schedulers,
    fit_beside,
    parse_entrant,
)
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.replay.chance import FEWEST
from tracekit.replay.runs.one import ALIKE, varying
from tracekit.replay.runs.replayer import Replayer, StoredReplays, cache_folder, forget
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED, Run, choose_policies
from tracekit.replay.runs.run import replay as replay_once
from tracekit.replay.runs.run_folder import RUN_FOLDER, write_run
from tracekit.report.sentences import document
from tracekit.store.folder import Store


def replay_by(
    crew: Crew | None,
    store: Store | None,
    policies: Entrants,
    *,
    out: Path | str,
    seed: int = 0,
    assume: Sequence[str] = (),
    workload: Path | str | None = None,
    rebalance: Sequence[RebalancePolicy] = (),
    schedulers: Schedulers | None = None,
    gangs: bool = False,
    repeats: int | None = None,
    repeat_policies: Entrants = Entrants(),
    repeats_up_to: int | None = None,
    follow: bool = False,
    fit: Path | None = None,
    keep: bool = False,
    source: WorkloadSource | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay in worker processes, or in this process, and write the run folder.

    Other parameters are those of ``commands.replay``.

    Parameters
    ----------
    crew : Crew, optional
        The worker processes; None replays in this process.
    schedulers : Schedulers, optional
        Each policy is also replayed with these several schedulers.
    follow : bool
        Whether policies outside ``repeat_policies`` are replayed in further orders of arrival, as
        long as they may be recommended.
    fit : path, optional
        The fit for policy ``interference`` where the policy has none of its own.
    keep : bool
        Whether finished replays stay stored next to the run folder, until the caller forgets them.
    source : WorkloadSource, optional
        The workload, if the caller has opened it already.
    """
    if store is not None:
        folder, by_default = fit or fit_beside(store.path), fit is not None
        policies = policies.with_fit(folder, by_default=by_default)
        repeat_policies = repeat_policies.with_fit(folder, by_default=by_default)
    orders = _orders(policies, repeats, repeat_policies, follow=follow, up_to=repeats_up_to)
    RUN_FOLDER.check_free(Path(out))
    source = source or source_of(
        store,
        workload,
        assume=assume,
        seed=seed,
        gangs=gangs,
        calls=policies.reads_calls,
        progress=progress,
    )
    with contextlib.ExitStack() as opened:
        if source.mapped is None:
            progress.stage("reading the workload", then="replay")
        if source.mapped is None and isinstance(crew, Workers):
            source = opened.enter_context(read_once(source, Path(out)))
        load = source.load()
        progress.say(
            f"{load.name}: {counted(load.containers.count, 'container')},"
            f" {counted(load.nodes.count, 'node')}, {counted(len(load.use.times_ms), 'step')}"
        )
        check_feasible(load)
        chosen = choose_policies(policies, load, rebalance, schedulers)
        repeated = _repeated(orders.policies, chosen, load, rebalance, schedulers)
        alone = orders.default and not varying(load)
        if alone:
            orders = orders._replace(repeats=1)
            progress.say(f"one replay of each policy: {ALIKE}")
        if orders.repeats > 1:
            progress.say(_cost(len(chosen), len(repeated), orders.repeats))
        replayer = Replayer(stored=StoredReplays(Path(out), load), crew=crew, source=source)
        how = _How(seed=seed, replayer=replayer, progress=progress)
        run = _replayed(load, chosen, repeated, orders, how)
    run = dataclasses.replace(run, alone=ALIKE if alone else run.alone)
    stored = None if store is None else store.path
    loader = None if workload is None else str(workload)
    answer = functools.partial(_answered, run, policies)
    write_run(run, Path(out), store=stored, loader=loader, gangs=gangs, beside=answer)
    if not keep:
        forget(Path(out))
    return run


@contextlib.contextmanager
def read_once(source: WorkloadSource, out: Path) -> Iterator[WorkloadSource]:
    """Read a workload now, and yield a source that maps it into memory in every process.

    The shared copy lies in a folder next to ``out`` until the block ends. The workload is freed
    before its shared copy is mapped, as memory may hold only one.
    """
    at = cache_folder(out) / "workload"
    with shared(source.load(), at):
        yield dataclasses.replace(source, mapped=at)


def _answered(run: Run, policies: Entrants, manifest: dict[str, Any], made: Path) -> None:
    """Write the answer of the replays alone."""
    results = Results(manifest, run.summary, run.repeats)
    choice = choose(results, named=policies.names, in_use=str(policies.in_use))
    write_document(made, document(answer_replays(results, choice)))


class _Orders(NamedTuple):
    """How many orders of arrival, for which policies; ``default``: no number was given."""

    repeats: int
    policies: Entrants
    follow: Sequence[str]
    default: bool
    up_to: int | None = None


class _How(TypedDict):
    """Arguments of replays in one order of arrival and in several."""

    seed: int
    replayer: Replayer
    progress: Progress


def _replayed(
    load: Workload,
    chosen: Sequence[Entrant],
    repeated: Sequence[Entrant],
    orders: _Orders,
    how: _How,
) -> Run:
    if orders.repeats == 1:
        return replay_once(load, chosen, **how)
    return repeat_replay(
        load,
        chosen,
        repeats=orders.repeats,
        repeated=repeated,
        follow=orders.follow,
        up_to=orders.up_to,
        **how,
    )


def _orders(
    policies: Entrants,
    repeats: int | None,
    repeated: Entrants,
    *,
    follow: bool,
    up_to: int | None,
) -> _Orders:
    """The orders of arrival: as many as an interval needs, unless a number is given.

    Of policies of ``all`` or ``common``, only two kinds meet further orders: policies that have to
    be beaten, and policies that may be recommended (see ``answer.repeat.followed``).
    """
    words = policies.words and not repeated.chosen
    rivals = (OBSERVED, str(policies.in_use), RANDOM) if follow or words else ()
    if repeats is not None:
        most = _more_than(repeats, up_to)
        return _Orders(repeats, repeated, rivals if follow else (), default=False, up_to=most)
    if words:
        repeated = Entrants(policies.named, policies.named)
        repeated = repeated.also(policies.in_use, parse_entrant(RANDOM))
    return _Orders(FEWEST, repeated, rivals, default=True, up_to=_more_than(FEWEST, up_to))


def _more_than(repeats: int, up_to: int | None) -> int | None:
    """``up_to`` if orders can be added; raises TracekitError where it is too small."""
    if up_to is None or up_to > repeats >= FEWEST:
        return up_to
    few = f"--repeat is {repeats}, an interval needs {FEWEST}"
    raise TracekitError(
        f"--repeat-up-to is {up_to}, but {few if up_to > repeats else f'--repeat is {repeats}'}",
        hint=f"for example --repeat {FEWEST} --repeat-up-to {2 * FEWEST}",
    )


def _cost(policies: int, repeated: int, repeats: int) -> str:
    """A line of progress on the number of replays."""
    whole = policies + repeated * (repeats - 1)
    what_for = "so that an interval can be told (--repeat 1: one order, no interval)"
    if repeats < FEWEST:
        what_for = f"but an interval needs {FEWEST} (--repeat {FEWEST})"
    return (
        f"{whole:,} replays: {repeated:,} of {counted(policies, 'policy')} meet"
        f" {counted(repeats, 'order')} of arrival, {what_for}"
    )


def _repeated(
    some: Entrants,
    chosen: Sequence[Entrant],
    load: Workload,
    rebalance: Sequence[RebalancePolicy],
    schedulers: Schedulers | None,
) -> Sequence[Entrant]:
    """The chosen policies that meet every order of arrival, with production."""
    if not some.chosen:
        return chosen
    wanted = choose_policies(some, load, rebalance, schedulers)
    replayed = {str(one) for one in chosen}
    strange = [name for name in some.names if name not in replayed]
    if strange:
        raise TracekitError(
            f"'{strange[0]}' is to meet every order of arrival, but is not replayed at all",
            hint=f"policies of this run: {', '.join(str(one) for one in chosen)}",
        )
    spelled = {str(one) for one in wanted}
    return [one for one in chosen if str(one) in spelled]
