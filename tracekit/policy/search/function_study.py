"""The study of test functions: every search on every function, original, shifted and rotated.

Protocol: Geng and Wang 2023, section 5.1 (ten independent runs; best, worst, mean, iterations).
The paper does not print the functions, their dimension and the tolerance; these are tracekit's own.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, stream
from tracekit.base.crew import Alone, Crew, OnProgress
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.study import Study
from tracekit.policy.search import FunctionStudy
from tracekit.policy.search.problem import (
    LEVEL,
    VARIANTS,
    Variant,
    against,
    all_functions,
    get_function,
    mean_ranks,
    problem,
)
from tracekit.policy.search.running import Search
from tracekit.policy.search.searches import all_searches, get_search

NAME = "search_functions"

#: The search that the paper claims to be better than its rivals.
CLAIMED = "tbesk"

#: The warning beside all results.
WARNING = (
    "All original functions have their optimum at the origin, to which steps in proportion to the"
    " position, and the swoop of bald eagle search, lead by themselves. The shifted and rotated"
    " copies show what a search finds elsewhere."
)


def parse_search(text: str) -> Search:
    """Return the search of a text ``NAME[param=value,...]``; raises TracekitError for others."""
    name, given = parameters.split(text)
    made: Search = parameters.build(get_search(name), name, given)
    return made


@dataclass(frozen=True)
class _Series:
    """All runs of one search on one variant of a function; can be pickled."""

    study: FunctionStudy
    search: str
    function: str
    variant: Variant
    iterations: int

    def run(self, on_progress: OnProgress) -> tuple[FloatArray, list[int]]:
        """The best cost after each iteration, shape (runs, iterations + 1), and evaluations."""
        study = self.study
        place = f"{self.function}/{self.variant}"
        task = problem(
            get_function(self.function),
            self.variant,
            study.dimensions,
            stream(study.seed, place),
        )
        search = replace(
            parse_search(self.search),
            population=study.population,
            iterations=self.iterations,
            patience=0,
        )
        results = [
            search.minimize(task, stream(study.seed, f"{self.search}/{place}/{run}"))
            for run in range(study.runs)
        ]
        on_progress(1, 0, 0)
        # a search that reached its accuracy stays at its last cost
        curves = [np.pad(one.curve, (0, self.iterations + 1 - len(one.curve)), "edge")
                  for one in results]  # fmt: skip
        return np.stack(curves), [one.evaluations for one in results]


def study_functions(
    study: FunctionStudy | None = None,
    *,
    searches: Sequence[str] = (),
    functions: Sequence[str] = (),
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Run several searches on test functions, several times each, and compare their costs.

    Parameters
    ----------
    searches : sequence of str
        Texts ``NAME[param=value,...]``; empty for all. ``study`` sets population and iterations.
    functions : sequence of str
        Names of test functions; empty for all.

    Returns
    -------
    Study
        ``runs`` has a row for each run. ``summary`` has a row for each function, variant and
        search: lowest, highest and mean cost, iterations, mean rank, and whether TBESK is better
        than the search. ``curves`` has quartiles of cost by iteration. ``equal_evaluations`` is the
        summary of runs in which each search evaluates about as many positions as the costliest
        search.

    Raises
    ------
    TracekitError
        For an unknown search or function.
    """
    study = study or FunctionStudy()
    names = [name for name in searches or all_searches() if parse_search(name)]
    places = [
        (function, variant)
        for function in functions or all_functions()
        if get_function(function)
        for variant in VARIANTS
    ]
    series = [_Series(study, name, *place, study.iterations) for place in places for name in names]
    crew = crew or Alone()
    with progress.task("searches", 2 * len(series), "runs") as task:
        results = _done(series, {}, crew, task)
        longer = [_paid(one, results) for one in series]
        equal = _done(longer, results, crew, task)
    runs = _runs(results, study.tolerance)
    return Study(
        name=NAME,
        about={**asdict(study), "searches": names, "warning": WARNING},
        frames={
            "runs": runs,
            "summary": _summary(runs),
            "curves": _curves(results),
            "equal_evaluations": _summary(_runs(equal, study.tolerance)),
        },
    )


_Results = dict[_Series, tuple[FloatArray, list[int]]]


def _done(series: Sequence[_Series], finished: _Results, crew: Crew, task: Task) -> _Results:
    """The result of each series; a series in ``finished`` is not computed again."""
    waiting = {
        one: crew.submit(one, lambda *_: task.advance(1)) for one in series if one not in finished
    }
    task.advance(len(series) - len(waiting))
    return {one: finished[one] if one in finished else waiting[one].result() for one in series}


def _paid(one: _Series, results: _Results) -> _Series:
    """The series with as many evaluations as the costliest search on the function.

    The evaluations of a search may be random; their mean over the runs counts.
    """
    first = one.study.population
    spent = {
        other.search: float(np.mean(evaluations))
        for other, (_, evaluations) in results.items()
        if (other.function, other.variant) == (one.function, one.variant)
    }
    each = (spent[one.search] - first) / one.iterations
    return replace(one, iterations=round((max(spent.values()) - first) / each))


def _place(one: _Series) -> dict[str, Any]:
    return {"function": one.function, "variant": one.variant, "search": one.search}


def arrived(curve: FloatArray, tolerance: float) -> int | None:
    """Return the first iteration (0: start) with a cost up to ``tolerance``; None without one."""
    within = np.flatnonzero(curve <= tolerance)
    return int(within[0]) if len(within) else None


def _runs(results: _Results, tolerance: float) -> pl.DataFrame:
    rows = [
        {
            **_place(one),
            "run": run,
            "cost": float(curve[-1]),
            "evaluations": evaluations[run],
            "iterations": arrived(curve, tolerance),
        }
        for one, (curves, evaluations) in results.items()
        for run, curve in enumerate(curves)
    ]
    schema = {
        "function": pl.String,
        "variant": pl.String,
        "search": pl.String,
        "run": pl.Int64,
        "cost": pl.Float64,
        "evaluations": pl.Int64,
        "iterations": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema)


def _summary(runs: pl.DataFrame) -> pl.DataFrame:
    """One row for each search and variant; iterations are the mean of runs within the tolerance."""
    place = ["function", "variant"]
    rows = runs.group_by(*place, "search", maintain_order=True).agg(
        pl.col("cost").min().alias("best"),
        pl.col("cost").mean().alias("mean"),
        pl.col("cost").max().alias("worst"),
        pl.col("iterations").is_not_null().mean().alias("arrived_share"),
        pl.col("iterations").mean().alias("iterations_mean"),
        pl.col("evaluations").mean().alias("evaluations_mean"),
    )
    ranks = [
        row
        for (function, variant), group in runs.group_by(*place, maintain_order=True)
        for row in _ranked(str(function), str(variant), group)
    ]
    schema = {
        "function": pl.String,
        "variant": pl.String,
        "search": pl.String,
        "mean_rank": pl.Float64,
        "tbesk_is": pl.String,
        "probability": pl.Float64,
    }
    return rows.join(
        pl.DataFrame(ranks, schema=schema),
        on=[*place, "search"],
        how="left",
        maintain_order="left",
    )


def _ranked(function: str, variant: str, group: pl.DataFrame) -> list[dict[str, Any]]:
    costs = {
        str(name): part["cost"].to_numpy()
        for (name,), part in group.group_by("search", maintain_order=True)
    }
    ranks = mean_ranks(np.stack(list(costs.values())))
    own = costs.get(CLAIMED)
    rivals = {name: values for name, values in costs.items() if name != CLAIMED}
    # the least probability of a rank test with so many runs
    many = group["run"].n_unique()
    least = 2 / math.comb(2 * many, many)
    tested = {} if own is None or least * len(rivals) > LEVEL else against(own, rivals)
    return [
        {
            "function": function,
            "variant": variant,
            "search": name,
            "mean_rank": float(rank),
            "tbesk_is": tested[name][1] if name in tested else None,
            "probability": tested[name][0] if name in tested else None,
        }
        for name, rank in zip(costs, ranks, strict=True)
    ]


def _curves(results: _Results, most: int = 60) -> pl.DataFrame:
    frames = []
    for one, (curves, _) in results.items():
        at = np.unique(np.linspace(0, curves.shape[1] - 1, most).round().astype(np.int64))
        low, middle, high = np.quantile(curves[:, at], [0.25, 0.5, 0.75], axis=0)
        frames.append(
            pl.DataFrame({"iteration": at, "cost_q1": low, "cost": middle, "cost_q3": high})
            .with_columns(*(pl.lit(value).alias(name) for name, value in _place(one).items()))
            .select("function", "variant", "search", "iteration", "cost_q1", "cost", "cost_q3")
        )
    return pl.concat(frames)
