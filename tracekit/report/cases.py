"""The table of the first page: each case of the decision beside the others."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.facts import Answer, Fact
from tracekit.report import sentences
from tracekit.report.tables import NONE

#: Cases in the order of their rows, and what a row is called.
CASES = {
    "today": "today",
    "recorded": "requests as they are",
    "recommended": "requests as recommended",
    "no_more_often": "no more often full than today",
    "half_size": "half the assumed size",
    "twice_size": "twice the assumed size",
    "bound": "proven lower bound",
}
MOST = 6
_CPU, _MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"


def cases(answer: Answer) -> list[dict[str, Any]]:
    """A row for each case: its label, its cells, and the sentence in place of them.

    The facts that stand in a row are in ``facts``.
    """
    rows = [_row(answer, case) for case in CASES]
    return [row for row in rows if row["facts"]][:MOST]


def _row(answer: Answer, case: str) -> dict[str, Any]:
    """One case; ``facts`` is empty where nothing is known of it."""
    count = answer.first("lower_bound" if case == "bound" else "nodes_needed", case=case)
    fullest = {one.measure: one for one in answer.of("fullest_node", case=case)}
    found: Mapping[str, Fact | None] = {
        "nodes": count,
        "cpu": fullest.get(_CPU),
        "memory": fullest.get(_MEMORY),
        "cost": answer.first("cost", case=case),
        "restarted": answer.first("pods_restarted", case=case),
    }
    facts = [one for one in found.values() if one is not None]
    cells = {name: NONE if one is None else sentences.value(one) for name, one in found.items()}
    if case == "today" and facts:
        cells["nodes"] = _of(answer)
    none = count is not None and count.value is None
    return {
        "label": CASES[case],
        "case": case,
        "cells": cells,
        "instead": sentences.short(count) if none and count is not None else "",
        "facts": facts,
    }


def _of(answer: Answer) -> str:
    """How many nodes there are."""
    of = next((one.about["of"] for one in answer.facts if one.about.get("of")), None)
    return sentences.amount(of, "nodes") or NONE
