"""tracekit size: set containers' limits by policies, the learning agent among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._output import print_json, print_sentence, print_table
from tracekit.cli._panels import Panel
from tracekit.units import percent

PANEL = Panel.sizes


def command(asked: Asked, out: Path, as_json: JsonOption = False) -> None:
    """Size containers cycle by cycle: the double-DQN agent beside what practice uses.

    Policies are compared on call chains the agent has not seen. Training needs the extra rl;
    interrupted, the same command goes on from the last 50 epochs that were whole.

    Example: tracekit size mystore --policy all --out sized --seeds 3
    """
    from tracekit.sizing.inputs import left_out
    from tracekit.sizing.run_folder import manifest_of
    from tracekit.sizing.verdict import sentences

    study = asked()
    if as_json:
        print_json({**manifest_of(study), "summary": study.summary.to_dicts()})
        return
    facts = study.facts
    for sentence in sentences(study.summary, study.differences):
        print_sentence(sentence)
    print_table(
        f"{facts['test_containers']:,} test containers on {facts['test_nodes']:,} nodes",
        list(COLUMNS),
        _rows(study.summary.to_dicts()),
        note=_note(len(study.seeds), out),
    )
    if missing := left_out(study.policies):
        print_sentence(missing)


#: Columns of the printed table; summary.parquet has every measure.
COLUMNS = {
    "policy": "",
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def _note(seeds: int, out: Path) -> str:
    if seeds == 1:
        return f"one seed, so no interval (--seeds 3 draws more); more measures: {out}"
    return f"means over {seeds} seeds; intervals and more measures: {out}"


def _rows(summary: list[dict[str, Any]]) -> list[list[object]]:
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary}
    policies = list(dict.fromkeys(row["policy"] for row in summary))
    measures = list(COLUMNS.values())[1:]
    return [[name, *(percent(means[name, one]) for one in measures)] for name in policies]
