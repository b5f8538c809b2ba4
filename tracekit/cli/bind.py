"""tracekit bind: replay placement down to the vCPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_lines, print_sentence, print_table, right

if TYPE_CHECKING:
    from tracekit.binding.run import VcpuRun

PANEL = Panel.rare


def command(asked: Asked, out: Path | None, json: JsonOption = False) -> None:
    """Choose host, socket and vCPUs for every container, and say what neighbours cost.

    The first policy is compared with each of the others, with intervals
    where --repeat gives several orders of arrival.

    Example: tracekit bind mystore --fit fit --repeat 10 --out bound
    """
    from tracekit.answer.interference import answer_of_binding
    from tracekit.binding.folder import document
    from tracekit.report.terminal import facts_in_full

    run = asked()
    answer = answer_of_binding(run)
    if json:
        print_json({**document(run), "facts": [one.document() for one in answer.facts]})
        return
    print_lines(facts_in_full(one for one in answer.of("binding") if one.weight < 3))
    _show(run)
    print_lines(facts_in_full(run.remarks))
    if out:
        print(f"all of it: {out}")


def _show(run: VcpuRun) -> None:
    rows = [
        [
            row["policy"],
            int(row["bound_vcpus"]),
            round(row["inflation_vcpus"], 2),
            f"{100 * (row['inflation_mean_fraction'] or 0):.2f} %",
            round(row["cpu_spread_mean_fraction"], 4),
            int(row["nodes_used_max"]),
        ]
        for row in run.summary.to_dicts()
    ]
    label = "; a proxy fit: k1 is 0" if run.model.mode == "proxy" else ""
    print_table(
        f"{run.workload.name}: {counted(run.workload.containers, 'container')}",
        ["policy", *right("vCPUs", "lost vCPUs", "mean", "cpu spread", "nodes")],
        rows,
        note=f"lost: predicted CPU that neighbours cost, mean over time{label}",
    )
    if run.model.unknown:
        print_sentence(f"{run.model.unknown} services are not in the fit; they have pooled values")
