"""tracekit optimize-bench: population searches on test functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._output import print_json, print_paragraph, print_table
from tracekit.cli._panels import Panel

if TYPE_CHECKING:
    from tracekit.study import Study

PANEL = Panel.search

_SHOWN = "{:.3g}"


def command(asked: Asked, out: Path | None, json: JsonOption = False) -> None:
    """Compare population searches on test functions, also shifted and rotated.

    Example: tracekit optimize-bench --out searches
    """
    found = asked()
    if json:
        print_json(
            {
                "schema": "tracekit/optimize-bench/1",
                **found.about,
                "summary": found.frames["summary"].to_dicts(),
            }
        )
        return
    _show(found)
    if out is not None:
        print(f"\nstudy: {out}; its page: tracekit report {out} --out report.html")


def _show(found: Study) -> None:
    from tracekit.replay.optimize.variants import WHAT

    about, summary = found.about, found.frames["summary"]
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
            ["function", "search", "best", "mean", "worst", "iterations", "TBESK is"],
            rows,
        )
    print_paragraph(
        f"{about['runs']} runs in {about['dimensions']} dimensions, {about['population']}"
        f" candidates, {about['iterations']} iterations. iterations: mean of the runs that came to"
        f" {about['tolerance']:g}. TBESK is: by a rank test at 5 %, Holm's correction."
    )
    print_paragraph(str(about["warning"]))
