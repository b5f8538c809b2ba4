"""What was counted while a workload was made is said in words."""

from __future__ import annotations

import re

import pytest

from tracekit.replay.workload import facts_told as words
from tracekit.replay.workload.provenance import facts_told


def test_names_of_counts_are_not_shown_raw() -> None:
    told = facts_told(
        {"constraint_selector": 21, "containers_pinned": 80, "nodes_lost": 0, "rows_stray": 3}
    )
    assert told == [
        "21 containers have rules of the kind selector",
        "80 containers are tied to their node, as those of daemons are",
        "3 samples of times far from all others, left out",
    ]


EVERY = {**words._BENDING, **words._FURTHER}


@pytest.mark.parametrize("name", EVERY)
def test_one_is_no_plural(name: str) -> None:
    """Facts said "1 containers have", and of many nothing may be said as of one."""
    (one,), (many,) = (facts_told({name: count}) for count in (1, 1200))
    assert not re.search(r"[|\[\]]", one + many)
    nouns = r"(container|node|sample|step|rule)"
    assert not re.match(rf"1 {nouns}s\b|1 \w+ (have|are|lack|were)\b", one)
    assert not re.match(rf"1,200 {nouns}\b", many)
