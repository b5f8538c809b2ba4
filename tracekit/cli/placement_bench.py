"""tracekit placement-bench: the placement experiment of the TBESK paper on drawn data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_paragraph, print_table, right
from tracekit.words import counted

if TYPE_CHECKING:
    import polars as pl

    from tracekit.study import Study

PANEL = Panel.rare


def command(asked: Asked, out: Path | None, json: JsonOption = False) -> None:
    """Place 1,800 containers on 31 nodes by every policy, many times over.

    Beside it: how close searches, greedy and local search come to the best
    placement of a batch that an integer program finds, and in which time.

    Example: tracekit placement-bench --out placements
    """
    from tracekit.answer.claims import answer_of_placement

    found = asked()
    if json:
        names = ("summary", "claims", "statements", "ranges", "use", "quality")
        print_json(
            {
                "schema": "tracekit/placement-bench/1",
                **found.about,
                **{name: found.frames[name].to_dicts() for name in names},
                "facts": [one.document() for one in answer_of_placement(found).facts],
            }
        )
        return
    _show(found)
    if out is not None:
        print(f"\nstudy: {out}; its page: tracekit report {out} --out report.html")


def _show(found: Study) -> None:
    frames, about = found.frames, found.about
    timing = dict(frames["timing"].iter_rows())
    print_table(
        f"Imbalance of {counted(about['containers'], 'container')} on"
        f" {counted(about['nodes'], 'node')},"
        f" {about['sets']} drawn sets",
        ["policy", *right("Z", "95 % interval", "pending", "over", "µs")],
        [
            [
                row["policy"],
                f"{row['imbalance']:.4f}",
                f"{row['imbalance_low']:.4f}-{row['imbalance_high']:.4f}",
                f"{row['pending']:.1f}",
                f"{row['overfull_nodes']:.1f}",
                f"{1000 * timing[row['policy']]:,.0f}",
            ]
            for row in frames["summary"].iter_rows(named=True)
        ],
        note="Z: imbalance; over: nodes beyond capacity in a resource; µs: per decision",
    )
    print()
    _show_claims(found)
    quality = frames["quality"]
    last = quality.group_by("method", maintain_order=True).last()
    print_table(
        f"One batch of {about['solvers']['batch_size']} placed by several methods",
        ["method", *right("iterations", "gap to the best", "best found", "ms")],
        [
            [method, iterations or "-", f"{gap:.5f}", f"{share:.0%}", f"{spent:.1f}"]
            for method, iterations, gap, _, share, spent in last.iter_rows()
        ],
    )
    if "cwt" in frames["summary"]["policy"]:
        print_paragraph("cwt is our reading of a paper whose formulas are not published.")


def _show_claims(found: Study) -> None:
    claims, ranges = found.frames["claims"], found.frames["ranges"]
    if claims.height:
        print_table(
            "TBESK against others: change of imbalance",
            ["against", "over", *right("paper", "here", "interval", "below"), "verdict"],
            [
                [
                    row["against"],
                    row["over"],
                    "-" if row["reported_change"] is None else f"{row['reported_change']:+.0%}",
                    f"{row['change']:+.1%}",
                    f"{100 * row['change_low']:+.0f} .. {100 * row['change_high']:+.0f}",
                    f"{row['below_share']:.0%}",
                    row["verdict"],
                ]
                for row in claims.iter_rows(named=True)
            ],
            note="the paper's figures are over all counts of containers; interval: 95 %; below:"
            " share of counts and sets at which TBESK is less imbalanced",
        )
    _show_statements(found.frames["statements"])
    if ranges.height:
        print_table(
            "Most used node less the least used, in points of capacity",
            ["policy", "resource", *right("paper", "here")],
            [
                [policy, resource, f"{100 * reported:.0f}", f"{100 * here:.0f}"]
                for policy, resource, reported, here in ranges.iter_rows()
            ],
        )


def _show_statements(statements: pl.DataFrame) -> None:
    if statements.height:
        print_table(
            "What the paper says besides",
            ["statement", *right("here", "95 % interval"), "verdict"],
            [
                [
                    row["statement"],
                    f"{100 * row['here']:+.1f} %",
                    f"{100 * row['here_low']:+.1f} .. {100 * row['here_high']:+.1f}",
                    row["verdict"],
                ]
                for row in statements.iter_rows(named=True)
            ],
            note="falls: change over the first quarter; differs: by how much the ranges over nodes"
            " lie apart, points of capacity",
        )
