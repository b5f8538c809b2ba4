"""A replay from its words to its folder: workload, policies, run, run folder."""

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
from tracekit.cluster.changed.pinned import check_feasible
from tracekit.cluster.shared import shared
from tracekit.cluster.source import WorkloadSource, source_of
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import (
    Entrant,
    Entrants,
    Schedulers,
    fit_beside,
    parse_entrant,
)
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.runs.one import ALIKE, varying
from tracekit.replay.runs.replayer import Kept, Replayer, forget, kept_folder
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
    """As ``replay``, by a given crew, or by this process.

    Parameters
    ----------
    schedulers : Schedulers, optional
        Several schedulers by whom each policy is replayed, too.
    follow : bool
        Whether those that are not in ``repeat_policies`` meet further orders as long as they may
        still be recommended.
    fit : path, optional
        A fit that policy ``interference`` places by where it is given none.
    keep : bool
        Whether finished replays are kept beside the run folder, until the caller forgets them.
    source : WorkloadSource, optional
        The workload, where it is shared already.
    """
    if store is not None:
        folder, unasked = fit or fit_beside(store.path), fit is not None
        policies = policies.placing_by(folder, unasked=unasked)
        repeat_policies = repeat_policies.placing_by(folder, unasked=unasked)
    asked = _asked(policies, repeats, repeat_policies, follow=follow, up_to=repeats_up_to)
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
        repeated = _repeated(asked.policies, chosen, load, rebalance, schedulers)
        alone = asked.default and not varying(load)
        if alone:
            asked = asked._replace(repeats=1)
            progress.say(f"one replay of each policy: {ALIKE}")
        if asked.repeats > 1:
            progress.say(_cost(len(chosen), len(repeated), asked.repeats))
        replayer = Replayer(kept=Kept(Path(out), load), crew=crew, source=source)
        how = _How(seed=seed, replayer=replayer, progress=progress)
        run = _replayed(load, chosen, repeated, asked, how)
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
    """The source of a workload that is read now, and shared by all processes, beside a run folder.

    It is let go before it is mapped: one of them may fit where two do not.
    """
    at = kept_folder(out) / "workload"
    with shared(source.load(), at):
        yield dataclasses.replace(source, mapped=at)


def _answered(run: Run, policies: Entrants, manifest: dict[str, Any], made: Path) -> None:
    """Write what the replays alone let one decide."""
    found = Results(manifest, run.summary, run.repeats)
    choice = choose(found, named=policies.names, in_use=str(policies.in_use))
    write_document(made, document(answer_replays(found, choice)))


class _Asked(NamedTuple):
    """How many orders of arrival, for which policies; ``default``: nobody asked for a number."""

    repeats: int
    policies: Entrants
    follow: Sequence[str]
    default: bool
    up_to: int | None = None


class _How(TypedDict):
    """The settings shared by one order of arrival and several."""

    seed: int
    replayer: Replayer
    progress: Progress


def _replayed(
    load: Workload,
    chosen: Sequence[Entrant],
    repeated: Sequence[Entrant],
    asked: _Asked,
    how: _How,
) -> Run:
    if asked.repeats == 1:
        return replay_once(load, chosen, **how)
    return repeat_replay(
        load,
        chosen,
        repeats=asked.repeats,
        repeated=repeated,
        follow=asked.follow,
        up_to=asked.up_to,
        **how,
    )


def _asked(
    policies: Entrants,
    repeats: int | None,
    repeated: Entrants,
    *,
    follow: bool,
    up_to: int | None,
) -> _Asked:
    """The number of orders: as many as an interval needs, unless one is given.

    Of those that ``all`` or ``common`` stands for, only those meet them that have to be beaten, and
    those that may still be recommended: see ``answer.repeat.followed``.
    """
    words = policies.words and not repeated.chosen
    rivals = (OBSERVED, str(policies.in_use), RANDOM) if follow or words else ()
    if repeats is not None:
        most = _more_than(repeats, up_to)
        return _Asked(repeats, repeated, rivals if follow else (), default=False, up_to=most)
    if words:
        repeated = Entrants(policies.named, policies.named)
        repeated = repeated.also(policies.in_use, parse_entrant(RANDOM))
    return _Asked(FEWEST, repeated, rivals, default=True, up_to=_more_than(FEWEST, up_to))


def _more_than(repeats: int, up_to: int | None) -> int | None:
    """Up to how many orders are added; raises TracekitError where there is nothing to add to."""
    if up_to is None or up_to > repeats >= FEWEST:
        return up_to
    few = f"--repeat is {repeats}, an interval needs {FEWEST}"
    raise TracekitError(
        f"--repeat-up-to is {up_to}, but {few if up_to > repeats else f'--repeat is {repeats}'}",
        hint=f"for example --repeat {FEWEST} --repeat-up-to {2 * FEWEST}",
    )


def _cost(policies: int, repeated: int, repeats: int) -> str:
    """A sentence on the cost of repeats, and how to do without."""
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
    """The chosen policies that meet every order of arrival; production among them."""
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
