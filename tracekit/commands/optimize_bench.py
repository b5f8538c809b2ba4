"""tracekit optimize-bench: population searches on test functions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Option, Seed, SideBySide, StudyFolder
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    print_claims,
    print_paragraph,
    print_table,
    right,
)
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.policy.search import (
    Dimensions,
    FunctionStudy,
    Iterations,
    Population,
    Runs,
)

if TYPE_CHECKING:
    from tracekit.base.facts import Fact
    from tracekit.base.study import Study


def optimize_bench(
    out: StudyFolder = None,
    *,
    searches: Annotated[
        Sequence[str],
        Option(
            "A search; repeatable. Without it, all.",
            names="--search",
            metavar="NAME[param=value,...]",
            completes="searches",
        ),
    ] = (),
    functions: Annotated[
        Sequence[str],
        Option(
            "A test function; repeatable. Without it, all.",
            names="--function",
            completes="functions",
        ),
    ] = (),
    runs: Runs = FunctionStudy.runs,
    dimensions: Dimensions = FunctionStudy.dimensions,
    population: Population = FunctionStudy.population,
    iterations: Iterations = FunctionStudy.iterations,
    jobs: SideBySide = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """Population searches on test functions; see ``tracekit.policy.search.function_study``."""
    from tracekit.commands._study import made
    from tracekit.policy.search.function_study import study_functions

    study = FunctionStudy(
        dimensions=dimensions, runs=runs, population=population, iterations=iterations, seed=seed
    )
    return made(
        lambda crew: study_functions(
            study, searches=searches, functions=functions, crew=crew, progress=progress
        ),
        out,
        jobs=jobs,
    )


PANEL = Panel.rare

_SHOWN = "{:.3g}"


def command(call: Call, out: Path | None, json: JsonOption = False) -> None:
    """Compare population searches on test functions, also shifted and rotated.

    Example: tracekit optimize-bench --out searches
    """
    from tracekit.commands._study import print_bench

    names = ("summary", "facts", "equal_evaluations")
    print_bench(call(), "functions", "optimize-bench", names, out, json=json, show=_show)


def _show(study: Study, facts: Sequence[Fact]) -> None:
    from tracekit.policy.search.problem import WHAT

    about, summary = study.about, study.frames["summary"]
    for (variant,), part in summary.group_by("variant", maintain_order=True):
        rows = [
            [
                row["function"],
                row["search"],
                *(_SHOWN.format(row[name]) for name in ("best", "mean", "worst")),
                "-" if row["iterations_mean"] is None else f"{row['iterations_mean']:.0f}",
                row["tbesk_is"] or "-",
            ]
            for row in part.iter_rows(named=True)
        ]
        print_table(
            f"{str(variant).capitalize()}: {WHAT[str(variant)]}",
            ["function", "search", *right("best", "mean", "worst", "iterations"), "TBESK is"],
            rows,
        )
    print_paragraph(
        f"{about['runs']} runs in {about['dimensions']} dimensions, {about['population']}"
        f" candidates, {about['iterations']} iterations. iterations: mean of the runs that came to"
        f" {about['tolerance']:g}. TBESK is: by a rank test at 5 %, Holm's correction."
    )
    print_table(
        "TBESK against each rival: functions on which it is better, not told apart, worse",
        ["copy", "rival", *right("evaluations", "at equal iterations", "at equal evaluations")],
        [
            [variant, search, f"{evaluations:,.0f}", *cells]
            for variant, search, evaluations, *cells in tallied(study)
        ],
        note="at equal evaluations every search has as many as the costliest; evaluations are"
        " those at equal iterations",
    )
    print_claims(facts)
    print_paragraph(str(about["warning"]))


def tallied(study: Study) -> list[tuple[str, str, float, str, str]]:
    """Return a row for each variant and search: how often TBESK is better, even or worse.

    A row has variant, search, the search's mean evaluations, and two texts such as ``5, 1, 2``:
    counts at equal iterations and at equal evaluations.
    """
    equal = study.frames["equal_evaluations"].partition_by("variant", "search", as_dict=True)
    rows = []
    for (variant, search), part in study.frames["summary"].group_by(
        "variant", "search", maintain_order=True
    ):
        tallies = [
            ", ".join(f"{frame['tbesk_is'].to_list().count(word)}"
                      for word in ("better", "even", "worse"))
            for frame in (part, equal[variant, search])
        ]  # fmt: skip
        if part["tbesk_is"].null_count() < part.height:
            mean = float(part["evaluations_mean"].to_numpy().mean())
            rows.append((str(variant), str(search), mean, tallies[0], tallies[1]))
    return rows
