"""tracekit bind: replay placement down to the vCPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_sentence, print_table, right
from tracekit.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from tracekit.binding.run import VcpuRun

PANEL = Panel.rare


def command(asked: Asked, out: Path | None, json: JsonOption = False) -> None:
    """Choose host, socket and vCPUs for every container, and say what neighbours cost.

    The first policy is compared with each of the others, with intervals
    where --repeat gives several orders of arrival.

    Example: tracekit bind mystore --fit fit --repeat 10 --out bound
    """
    from tracekit.binding.folder import document

    run = asked()
    if json:
        print_json(document(run))
        return
    _show(run)
    if out:
        print(f"all of it: {out}")


def _show(run: VcpuRun) -> None:
    from tracekit.binding.drawn import unlike_recorded

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
    unlike = unlike_recorded(dict(run.summary.select("policy", "bound_vcpus").iter_rows()))
    for sentence in [*sentences(run.differences), unlike, run.held.sentence(), *run.told]:
        if sentence:
            print_sentence(sentence)
    if run.model.unknown:
        print_sentence(f"{run.model.unknown} services are not in the fit; they have pooled values")


def sentences(differences: pl.DataFrame) -> list[str]:
    """The result of the comparison, one sentence for each other policy."""
    said = []
    for row in differences.to_dicts():
        if row["measure"] != "inflation_vcpus":
            continue
        apart, share = row["difference_mean"], row["share_mean"]
        more = "more" if apart > 0 else "less"
        # beyond all of it, or beside less than nothing, a share has no meaning
        part = f" ({100 * abs(share):.0f} % {more})" if share is not None and share >= -1 else ""
        lost = f"{row['policy']} loses {abs(apart):.2f} vCPUs {more} than {row['against']}"
        said.append(f"{lost}{part}; {_sure(row)}")
    return [*said, *_the_other_way_round(differences)]


def _the_other_way_round(differences: pl.DataFrame) -> list[str]:
    """A sentence if the share that a container loses orders two policies as lost vCPUs do not."""
    from tracekit.words import few

    rows = [row for row in differences.to_dicts() if row["separated"] or row["repeats"] == 1]
    by = {(row["measure"], row["against"]): row["difference_mean"] for row in rows}
    names = [
        name
        for measure, name in by
        if measure == "inflation_vcpus"
        and by[measure, name] * by.get(("inflation_mean_fraction", name), 0.0) < 0
    ]
    if not names:
        return []
    opposite = f"the mean share says the opposite of {rows[0]['policy']} and {few(names)}"
    return [f"{opposite}: it counts each container alike, lost vCPUs count large ones for more"]


def _sure(row: Mapping[str, Any]) -> str:
    """How sure a difference is, a clause."""
    from tracekit.replay.chance.student import FEWEST

    if row["repeats"] == 1:
        return f"one order of arrival: an interval needs {FEWEST} (--repeat {FEWEST})"
    if row["repeats"] < FEWEST:
        return (
            f"the mean of {counted(row['repeats'], 'order')} of arrival: an interval needs {FEWEST}"
            f" (--repeat {FEWEST})"
        )
    low, high = row["difference_low"], row["difference_high"]
    alike = "" if row["separated"] else ", which does not tell them apart"
    return f"interval {low:.2f} to {high:.2f} vCPUs over {counted(row['repeats'], 'order')}{alike}"
