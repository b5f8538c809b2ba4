"""What was counted while a workload was made is said in words."""

from __future__ import annotations

from tracekit.replay.workload.facts_told import facts_told


def test_names_of_counts_are_not_shown_raw() -> None:
    told = facts_told(
        {"constraint_selector": 21, "containers_pinned": 80, "nodes_lost": 0, "rows_stray": 3}
    )
    assert told == [
        "21 containers have rules of the kind selector",
        "80 containers are tied to their node, as those of daemons are",
        "3 samples of times far from all others, left out",
    ]
