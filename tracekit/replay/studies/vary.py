"""Which assumptions matter: the same policies under changed assumptions, and which is best.

A trace does not say how large nodes and requests are. If another policy is best, beyond chance,
once such a number changes, then the answer under the default is worth little. Ranks are those of
``tracekit.replay.runs.standings`` over several orders of arrival; ``vary_told`` has the words.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.crew.crew import Alone, Crew, OnProgress
from tracekit.errors import TracekitError, nearest
from tracekit.progress import SILENT, Progress
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.runs.followed import LARGEST
from tracekit.replay.runs.one import digest_of, in_order, replay_one
from tracekit.replay.runs.repeat import row_of
from tracekit.replay.runs.replayer import Planned
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.separation import separating
from tracekit.replay.runs.standings import standings
from tracekit.replay.runs.student import FEWEST
from tracekit.replay.runs.varying import varying
from tracekit.replay.studies.vary_ranks import BASE, moved_by, ranked
from tracekit.replay.workload.sized.tables import is_sized, used_by_others
from tracekit.replay.workload.source import WorkloadSource, source_of
from tracekit.replay.workload.workload import Workload
from tracekit.store import Store, open_store
from tracekit.study import Study

NAME = "assumptions"
#: What policies are ranked by where nothing tells them apart.
USUAL = "cpu_max_fraction"

#: Changes that are tried when none are given: half and double sizes, and the other readings.
CHANGES = (
    "node_cpu_cores=52",
    "node_cpu_cores=208",
    "node_memory_bytes=192GiB",
    "node_memory_bytes=768GiB",
    "request_cpu_cores=2",
    "request_cpu_cores=8",
    "request_memory_bytes=2GiB",
    "request_memory_bytes=8GiB",
    "background=none",
    "reserved=none",
    "arrival=trace",
    "network_and_disk=modelled",
)
#: The same for a store with sizes: there is less to assume.
SIZED_CHANGES = (
    "used_share=0.5",
    "order=listed",
    "arrival_span_ms=0",
    "departures=none",
    "background=none",
    "groups=none",
    "selectors=none",
    "cells=none",
    "resources=cpu+memory",
)
#: The same for a trace beside which sizes are recorded.
RECORDED_CHANGES = (
    "requests=uniform",
    "node_sizes=assumed",
    "resources=cpu+memory",
    "background=none",
    "reserved=none",
    "arrival=trace",
)
POLICIES = ("first_fit", "worst_fit", "least_allocated", "balanced_allocation", "cwt", "random")


@dataclass(frozen=True)
class _Orders:
    """One policy under one change, in so many orders of arrival; can be sent elsewhere."""

    source: WorkloadSource
    policy: str
    seed: int
    repeats: int | None

    def run(self, on_progress: OnProgress) -> _Met:
        load, entrant = _loaded(self.source), parse_entrant(self.policy)
        varies, repeats = varying(load), self.repeats
        if repeats is None:
            repeats = FEWEST if load.containers * load.nodes <= LARGEST else 1
        met = range(repeats if varies else 1)
        rows: list[dict[str, Any]] = []
        digests = []
        for number in met:
            seed = self.seed + number
            one = replay_one(in_order(load, seed) if number else load, entrant, seed)
            rows.append(row_of(Planned(entrant, seed, number), one))
            digests.append(one.digest.encode())
        on_progress(1, 0, 0)
        return _Met(rows, digest_of(digests), tuple(varies))


@dataclass(frozen=True)
class _Met:
    """The result of ``_Orders``: a row per order, a hash of the placements, what orders vary."""

    rows: list[dict[str, Any]]
    digest: str
    covers: tuple[str, ...]


@functools.lru_cache(maxsize=1)
def _loaded(source: WorkloadSource) -> Workload:
    return source.load()


@dataclass(frozen=True)
class _Case:
    """One change: where its workload comes from, or why there is none."""

    change: str
    source: WorkloadSource


def vary_assumptions(
    store: Path,
    *,
    policies: Sequence[str] = (),
    changes: Sequence[str] = (),
    measure: str | None = None,
    repeats: int | None = None,
    seed: int = 0,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Replay policies under each change of one assumption.

    Parameters
    ----------
    changes : sequence of str
        ``NAME=VALUE``, one assumption each; when empty ``CHANGES``, where the store records sizes
        ``RECORDED_CHANGES`` or ``SIZED_CHANGES``.
    measure : str, optional
        What policies are ranked by; the lowest is first where neither end is better. If not given,
        the first that has a better end and tells the policies apart under the defaults.
    repeats : int, optional
        Orders of arrival that each policy meets under each change. Without it six, the fewest that
        an interval needs; one where the workload is very large.

    Returns
    -------
    Study
        ``ranks``: change, policy, the mean over orders with its interval, rank (1 and one more for
        each policy that is better beyond chance, so that those that cannot be told apart share
        it), and whether it is among the best. ``changes``, what turns the answer over first:
        ``stands`` says whether one of the policies that are best under the defaults is among the
        best here (``same``), others are, beyond chance (``other``), or nothing is told; how far
        ranks agree (Kendall's tau-b, 1 the same, -1 the opposite), the best, and who moved by how
        many places. A change under which nothing can be replayed has its problem there.

    Raises
    ------
    TracekitError
        For unknown names or values, and fewer than two policies.
    """
    if measure is not None:
        _check(measure)
    names = [str(parse_entrant(text)) for text in policies or POLICIES]
    if len(set(names)) < 2:
        raise TracekitError("one policy has no rank", hint="name two policies or more")
    usual = _usual(open_store(store))
    cases = [
        _Case(text or BASE, source_of(store, None, assume=[text] if text else [], seed=seed))
        for text in ("", *(changes or usual))
    ]
    found, problems = _replayed(
        cases, names, repeats=repeats, seed=seed, crew=crew or Alone(), progress=progress
    )
    if BASE in problems:
        raise TracekitError(problems[BASE])
    measure = measure or _that_tells(found[BASE])
    ranks = ranked(found, measure, problems)
    base = standings(found[BASE], measure)
    return Study(
        name=NAME,
        about={
            "measure": measure,
            "policies": names,
            "changes": list(changes),
            "seed": seed,
            "store": str(store),
            "repeats": max(row.orders for row in base.rows),
            "repeats_cover": list(found[BASE].covers),
            "best": [name for row in base.best for name in row.names],
            "why_not": base.why_not,
        },
        frames={"ranks": ranks, "changes": moved_by(ranks, problems)},
    )


def _usual(store: Store) -> tuple[str, ...]:
    """Changes to try when none are given."""
    if not is_sized(store):
        return CHANGES
    return RECORDED_CHANGES if used_by_others(store) else SIZED_CHANGES


def _replayed(
    cases: Sequence[_Case],
    names: Sequence[str],
    *,
    repeats: int | None,
    seed: int,
    crew: Crew,
    progress: Progress,
) -> tuple[dict[str, Results], dict[str, str]]:
    """The results under each change, and the problems of changes that cannot be replayed."""
    met: dict[str, dict[str, _Met]] = {}
    problems: dict[str, str] = {}
    with progress.task("assumptions", len(cases) * len(names), "policies") as task:
        running = [
            (case, name, crew.submit(_Orders(case.source, name, seed, repeats), lambda *_: None))
            for case in cases
            for name in names
        ]
        for case, name, future in running:
            try:
                met.setdefault(case.change, {})[name] = future.result()
            except TracekitError as error:
                problems.setdefault(case.change, error.what)
            task.advance(1, case.change)
    found = {change: _results(one) for change, one in met.items() if change not in problems}
    return found, problems


def _results(met: Mapping[str, _Met]) -> Results:
    """The replays under one change in the form of a run's results."""
    rows = [{**row, "policy": name} for name, one in met.items() for row in one.rows]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    document = {
        "repeats_cover": list(next(iter(met.values())).covers),
        "policies": [{"policy": name, "placements": one.digest} for name, one in met.items()],
    }
    first = frame.filter(repeat=0)
    return Results(document, first, frame if frame.height > first.height else None)


def _check(measure: str) -> None:
    """Raise TracekitError for a measure that no workload has."""
    if find_measure(measure) is not None:
        return
    known = compared()
    close = nearest(measure, known)
    raise TracekitError(
        f"no measure '{measure}'; measures: {', '.join(known)}",
        hint=f"did you mean '{close}'?" if close else None,
    )


def _that_tells(found: Results) -> str:
    """The first measure with a better end by which some policy is best, beyond chance.

    Else the first that tells any two apart, also by the one order they met; else ``USUAL``.
    """
    judged = [one for one in found.measures.values() if one.better]
    ordered = sorted(judged, key=lambda one: one.group != "answer")
    stands = [one for name in ordered if (one := standings(found, name.name)).tells]
    stands.sort(key=lambda one: len(one.best) == len(one.rows))
    told = (one.measure for one in stands)
    apart = (one.name for one in separating(found.summary) if one.better and one.compared)
    return next(told, next(apart, USUAL))
