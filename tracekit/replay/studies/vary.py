"""Which assumptions matter: the same policies under changed assumptions, and how ranks move.

A trace does not say how large nodes and requests are. Where policies change places when one such
number changes, the order under the default is not worth much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from scipy import stats

from tracekit.crew.crew import Alone, Crew
from tracekit.errors import TracekitError, nearest
from tracekit.progress import SILENT, Progress
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.policy.entrant import parse_entrant
from tracekit.replay.runs.one import ReplayTask
from tracekit.replay.runs.separation import separating
from tracekit.replay.workload.sized.tables import is_sized, used_by_others
from tracekit.replay.workload.source import WorkloadSource, source_of
from tracekit.store import Store, open_store
from tracekit.study import Study

NAME = "assumptions"
BASE = "as assumed"
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

_RANKS = {
    "change": pl.String,
    "policy": pl.String,
    "value": pl.Float64,
    "pending": pl.Int64,
    "rank": pl.Float64,
}
_MOVES = {
    "change": pl.String,
    "agreement": pl.Float64,
    "first": pl.String,
    "most_moved": pl.String,
    "places": pl.Float64,
    "problem": pl.String,
}


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

    Returns
    -------
    Study
        Frames ``ranks`` (change, policy, value, rank; 1 is best, equal values share) and
        ``changes`` (how far the order agrees with that of the defaults: Kendall's tau-b, 1 the
        same, -1 the opposite; who is first, and who moved by how many places), least agreement
        first. A change under which nothing can be replayed has its problem there.

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
    rows, problems = _replayed(cases, names, seed=seed, crew=crew or Alone(), progress=progress)
    if BASE in problems:
        raise TracekitError(problems[BASE])
    measure = measure or _that_separates([row for change, row in rows if change == BASE])
    values = _values(rows, measure, problems)
    ranks = _ranked(values, measure)
    return Study(
        name=NAME,
        about={"measure": measure, "policies": names, "seed": seed, "store": store.name},
        frames={"ranks": ranks, "changes": _moves(ranks, problems)},
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
    seed: int,
    crew: Crew,
    progress: Progress,
) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, str]]:
    """Each change with the rows of its policies, and what went wrong with a change."""
    rows: list[tuple[str, dict[str, Any]]] = []
    problems: dict[str, str] = {}
    with progress.task("assumptions", len(cases) * len(names), "replays") as task:
        running = [
            (case, name, crew.submit(ReplayTask(case.source, name, seed, 0), lambda *_: None))
            for case in cases
            for name in names
        ]
        for case, name, future in running:
            try:
                row = future.result().row
            except TracekitError as error:
                problems.setdefault(case.change, error.what)
            else:
                rows.append((case.change, {**row, "policy": name}))
            task.advance(1, case.change)
    return [(change, row) for change, row in rows if change not in problems], problems


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


def _that_separates(rows: Sequence[dict[str, Any]]) -> str:
    """The first measure with a better end that tells these policies apart; else ``USUAL``."""
    apart = separating(pl.DataFrame(list(rows), infer_schema_length=None))
    return next((one.name for one in apart if one.better and one.compared), USUAL)


def _values(
    rows: Sequence[tuple[str, dict[str, Any]]], measure: str, problems: dict[str, str]
) -> list[dict[str, Any]]:
    """What each policy comes to under each change; a change without the measure is a problem."""
    found = []
    for change, row in rows:
        if row.get(measure) is None:
            problems.setdefault(change, f"the workload has no measure '{measure}'")
            continue
        pending = row["pending"]
        value = float(row[measure])
        found.append(
            {"change": change, "policy": row["policy"], "value": value, "pending": pending}
        )
    if BASE in problems:
        raise TracekitError(problems[BASE])
    return [one for one in found if one["change"] not in problems]


def _ranked(rows: list[dict[str, Any]], measure: str) -> pl.DataFrame:
    """Ranks within each change; values that agree to nine digits are equal."""
    one = find_measure(measure)
    down = one is not None and one.first == "high"
    rank = pl.col("value").round_sig_figs(9).rank("average", descending=down).over("change")
    values = {name: kind for name, kind in _RANKS.items() if name != "rank"}
    return pl.DataFrame(rows, schema=values).with_columns(rank.alias("rank")).select(list(_RANKS))


def _moves(ranks: pl.DataFrame, problems: dict[str, str]) -> pl.DataFrame:
    base = dict(ranks.filter(change=BASE).select("policy", "rank").rows())
    rows: list[dict[str, Any]] = []
    for (change,), part in ranks.group_by("change", maintain_order=True):
        if change == BASE:
            continue
        own = dict(part.select("policy", "rank").rows())
        tau = stats.kendalltau([base[name] for name in own], list(own.values())).statistic
        moved = max(own, key=lambda name: abs(own[name] - base[name]))
        rows.append(
            {
                "change": change,
                # a constant order agrees with nothing and contradicts nothing
                "agreement": 0.0 if tau != tau else float(tau),  # noqa: PLR0124 - NaN
                "first": min(own, key=lambda name: (own[name], name)),
                "most_moved": moved,
                "places": float(abs(own[moved] - base[moved])),
                "problem": None,
            }
        )
    rows += [{"change": change, "problem": what} for change, what in problems.items()]
    frame = pl.DataFrame(rows, schema=_MOVES)
    return frame.sort("agreement", "change", nulls_last=True)
