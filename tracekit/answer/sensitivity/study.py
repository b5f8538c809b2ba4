"""The study of changed assumptions: the same policies, and the answer under each change.

A trace may not record the sizes of nodes and requests. If a change of an assumed size changes the
answer, or bars the recommended policy, the answer depends on the assumption. Each change is judged
as a run is (``answers``). Ranks by one measure are given beside it.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from tracekit.answer.decide import choose
from tracekit.answer.sensitivity.answers import (
    BASE,
    TURNED,
    Known,
    Orders,
    PolicyReplays,
    Unchanged,
    facts_of_changes,
    forget,
    moved_by,
    ranked,
    results_of,
)
from tracekit.answer.standings import standings
from tracekit.base.constants import (
    CONTAINER_CPU_CORES,
    CONTAINER_MEMORY_BYTES,
    NODE_CPU_CORES,
    NODE_MEMORY_BYTES,
)
from tracekit.base.crew import Alone, Crew
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.facts import Answer, Fact, Followup, answer_of
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study
from tracekit.base.units import BYTES_PER_GIB
from tracekit.cluster.assembly.sizes import is_sized, used_by_others
from tracekit.cluster.source import WorkloadSource, check_assumed, source_of
from tracekit.policy.entrant import Entrant, Entrants, Sent, files_entry, parse_entrant
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import compared, find_measure
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.store.folder import Store

NAME = "assumptions"
#: Entries by which a report recognises the study of its run.
_OF_LOAD = ("name", "nodes", "steps", "assumptions")
#: The measure by which policies are ranked where none decides.
USUAL_MEASURE = "cpu_max_fraction"
POLICIES = ("default_scheduler", "least_allocated", "most_allocated", "balanced_allocation",
            "target_load_packing", "random")  # fmt: skip


@dataclass(frozen=True)
class _Case:
    """One change: the source of its workload, or the reason why there is none."""

    change: str
    source: WorkloadSource


def vary_assumptions(
    store: Store,
    *,
    policies: Sequence[Entrant] = (),
    assume: Sequence[str] = (),
    changes: Sequence[str] = (),
    measure: str | None = None,
    repeats: int | None = None,
    seed: int = 0,
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Replay policies, and production if it is recorded, under each change of one assumption.

    Parameters
    ----------
    assume : sequence of str
        ``NAME=VALUE`` that holds under every change; a change of the same name replaces it.
    changes : sequence of str
        ``NAME=VALUE``, one assumption each. Empty for ``CHANGES``, or, where the store records
        sizes, ``RECORDED_CHANGES`` or ``SIZED_CHANGES``.
    measure : str, optional
        The measure by which policies are ranked; by default that which decides without a change.
    repeats : int, optional
        Orders of arrival that each policy meets under each change. By default six, the fewest that
        an interval needs; one where the workload is very large.

    Returns
    -------
    Study
        ``changes`` has a row for each change, the largest effect first. ``stands`` says what
        becomes of the policy recommended without a change: it is still recommended (``same``), may
        not be (``barred``), gives way to ``another policy``, or this is ``undecided``. ``nothing
        changes`` means that the workload is the same. ``policy`` is recommended under the change,
        ``because`` is the key of the reason, and ``decided_by`` the deciding measure. ``agreement``
        of the ranks is Kendall's tau-b, from -1 (opposite) to 1 (same); ``most_moved`` is the
        policy that moved most, by ``places``. A change that cannot be replayed has a ``problem``.

        ``ranks`` has a row for each change and policy: the mean over orders with its interval,
        rank, whether it is among the best, overloaded node-steps, containers never placed, whether
        too many waited, and why it may not be recommended. Rank 1 is the best; a policy's rank is 1
        more than the number of policies that are better beyond chance.

    Raises
    ------
    TracekitError
        For unknown names or values, and fewer than two policies.
    """
    _check(measure, [*assume, *changes])
    forget()
    entrants = {str(one): one for one in policies or Entrants.of(POLICIES).chosen}
    names = [name for name in entrants if name != OBSERVED]
    if len(names) < 2:
        raise TracekitError("one policy has no rank", hint="name two policies or more")
    usual = _usual(store)
    cases = [
        _Case(text or BASE, source_of(store, None, assume=_with(assume, text), seed=seed))
        for text in ("", *(changes or usual))
    ]
    tried = _replayed(
        cases,
        {OBSERVED: parse_entrant(OBSERVED), **{name: entrants[name] for name in names}},
        repeats=repeats,
        seed=seed,
        crew=crew or Alone(),
        progress=progress,
    )
    results, problems = tried.results, tried.problems
    if BASE in problems:
        raise TracekitError(problems[BASE])
    choices = {change: choose(one, named=names) for change, one in results.items()}
    measure = measure or choices[BASE].measure or USUAL_MEASURE
    ranks = ranked(results, measure, choices)
    base = standings(results[BASE], measure)
    return Study(
        name=NAME,
        about={
            "measure": measure,
            **_of_policies(entrants, names),
            "beside_production": OBSERVED in results[BASE].policies,
            "assume": list(assume),
            "changes": list(changes),
            "seed": seed,
            "store": str(store.path),
            "workload": _of_load(results[BASE]),
            "repeats": max(row.orders for row in base.rows),
            "repeats_cover": list(results[BASE].covers),
            "policy": choices[BASE].policy,
            "because": choices[BASE].because,
            "best": [name for row in base.best for name in row.names],
        },
        frames={"ranks": ranks, "changes": moved_by(ranks, choices, problems, tried.unchanged)},
    )


def _with(assume: Sequence[str], change: str) -> list[str]:
    """The assumptions under a change; the change replaces an assumption of its name."""
    name = change.partition("=")[0]
    others = [one for one in assume if one.partition("=")[0] != name]
    return [*others, change] if change else others


def _of_load(results: Results) -> dict[str, Any]:
    return {name: results.manifest["workload"][name] for name in _OF_LOAD}


def _of_policies(entrants: Mapping[str, Entrant], names: Sequence[str]) -> dict[str, Any]:
    return {"policies": names, **files_entry(entrants[name] for name in names)}


def _usual(store: Store) -> tuple[str, ...]:
    """The changes that are tried when none are given."""
    if not is_sized(store):
        return CHANGES
    return RECORDED_CHANGES if used_by_others(store) else SIZED_CHANGES


class _Tried(NamedTuple):
    """The results by change, the problems by change, and the changes that change nothing."""

    results: dict[str, Results]
    problems: dict[str, str]
    unchanged: list[str]


def _replayed(
    cases: Sequence[_Case],
    policies: Mapping[str, Entrant],
    *,
    repeats: int | None,
    seed: int,
    crew: Crew,
    progress: Progress,
) -> _Tried:
    """Replay the policies under each change that makes another workload."""
    met: dict[str, dict[str, PolicyReplays]] = {}
    problems: dict[str, str] = {}
    unchanged: dict[str, None] = {}
    with progress.task("assumptions", len(cases) * len(policies), "policies") as task:
        usual = ""
        # the replays raise the error of a workload that cannot be loaded
        with contextlib.suppress(TracekitError):
            usual = crew.submit(Known(cases[0].source)).result()
        running = [
            (
                case,
                name,
                crew.submit(Orders(case.source, Sent(where), seed, repeats, digest)),
            )
            for case, digest in ((one, "" if one.change == BASE else usual) for one in cases)
            for name, where in policies.items()
        ]
        for case, name, future in running:
            try:
                one = future.result()
                if isinstance(one, Unchanged):
                    unchanged[case.change] = None
                elif one is not None:
                    met.setdefault(case.change, {})[name] = one
            except TracekitError as error:
                problems.setdefault(case.change, error.what)
            task.advance(1, case.change)
    results = {change: results_of(one) for change, one in met.items() if change not in problems}
    return _Tried(results, problems, list(unchanged))


def _check(measure: str | None, settings: Sequence[str]) -> None:
    """Raise TracekitError for a measure that no workload has, or an assumption of no store."""
    check_assumed(settings)
    if measure is None or find_measure(measure) is not None:
        return
    measures = compared()
    close = nearest(measure, measures)
    raise TracekitError(
        f"no measure '{measure}'; measures: {', '.join(measures)}",
        hint=f"did you mean '{close}'?" if close else None,
    )


def answer_of_sensitivity(study: Study) -> Answer:
    """Return facts on whether the recommendation depends on an assumption, and what to do next."""
    changes = study.frames["changes"]
    turned = changes.filter(pl.col("stands").is_in(TURNED)).height
    tried = changes.filter(pl.col("problem").is_null()).height
    unknown = changes.filter(stands="undecided").height == tried
    because = "unknown" if unknown else "turns" if turned else "stands"
    first = Fact(
        kind="sensitivity",
        subject=study.about["policy"],
        value=turned,
        against=tried,
        because=because,
        about={"orders": study.about["repeats"]},
    )
    few = unknown and study.about["repeats"] == 1
    again = {"STORE": study.about["store"], "repeat": FEWEST}
    steps = [Followup(question="orders", command="sensitivity", arguments=again)] if few else []
    return answer_of([first, *facts_of_changes(study)], steps)


#: Changes that are tried when none are given: half and double sizes, and the other readings.
CHANGES = (
    *(
        f"{name}={size * times / unit:g}{spelled}"
        for name, size, unit, spelled in (
            ("node_cpu_cores", NODE_CPU_CORES, 1, ""),
            ("node_memory_bytes", NODE_MEMORY_BYTES, BYTES_PER_GIB, "GiB"),
            ("request_cpu_cores", CONTAINER_CPU_CORES, 1, ""),
            ("request_memory_bytes", CONTAINER_MEMORY_BYTES, BYTES_PER_GIB, "GiB"),
        )
        for times in (0.5, 2)
    ),
    "background=none",
    "reserved=none",
    "arrivals=recorded",
    "network_and_disk=modelled",
)
#: The changes for a store with sizes.
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
#: The changes for a trace with sizes recorded beside it.
RECORDED_CHANGES = (
    "requests=uniform",
    "node_sizes=assumed",
    "resources=cpu+memory",
    "background=none",
    "reserved=none",
    "arrivals=recorded",
)
