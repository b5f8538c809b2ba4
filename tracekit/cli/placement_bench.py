"""tracekit placement-bench: the placement experiment of the TBESK paper on drawn data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_claims, print_json, print_paragraph, print_table, right

if TYPE_CHECKING:
    from tracekit.base.facts import Fact
    from tracekit.base.study import Study

PANEL = Panel.rare


def command(asked: Asked, out: Path | None, json: JsonOption = False) -> None:
    """Place 1,800 containers on 31 nodes by every policy, many times over.

    Beside it: how close searches, greedy and local search come to the best
    placement of a batch that an integer program finds, and in which time.

    Example: tracekit placement-bench --out placements
    """
    found = asked()
    if json:
        names = ("summary", "use", "quality")
        print_json(
            {
                "schema": "tracekit/placement-bench/1",
                **found.about,
                **{name: found.frames[name].to_dicts() for name in names},
                "facts": [one.document() for one in _claims(found)],
            }
        )
        return
    _show(found)
    if out is not None:
        print(f"\nstudy: {out}; its page: tracekit report {out} --out report.html")


def _claims(found: Study) -> list[Fact]:
    from tracekit.answer.claims.every import claim_facts

    return claim_facts(lambda name: found.frames[name.partition("/")[2]], ("placement",))


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
    print_claims(_claims(found))
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
