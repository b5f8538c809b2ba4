"""Facts that a reader of a replay has to know before its numbers."""

from collections.abc import Iterator

import polars as pl

from tracekit.answer.facts import Fact
from tracekit.replay.chance.material import MATERIAL
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.workload.facts_told import BETWEEN

#: A step so many times finer is proposed where containers live between two steps.
FINER = 10
#: Containers that lost their place, and those of them that found no other.
_DISPLACED = {
    "loss": ("evicted_by_loss", "unplaced_after_loss"),
    "eviction": ("evictions", "unplaced_after_eviction"),
}


def caveats(found: Results) -> Iterator[Fact]:
    """What no measure counts, what fits nowhere, who lost a place, and notes of policies."""
    load = found.manifest.get("workload", {})
    of = load.get("containers") or 0
    unseen = load.get("facts", {}).get(BETWEEN, 0)
    if unseen > MATERIAL * of:
        finer = max(load["step_ms"] // FINER, 1)
        yield Fact(
            kind="unjudged",
            subject="trace",
            value=unseen,
            unit="containers",
            about={"of": of, "step_ms": finer},
        )
    large = load.get("containers_too_large") or 0
    if large:
        yield Fact(
            kind="too_large", subject="trace", value=large, unit="containers", about={"of": of}
        )
    yield from _displaced(found.summary)
    for policy in found.manifest.get("policies", ()):
        for note in policy.get("notes", ()):
            yield Fact(kind="note", subject=policy["policy"], about={"text": note})


def _displaced(summary: pl.DataFrame) -> Iterator[Fact]:
    """Of the first order of arrival."""
    rows = summary.filter(~pl.col("policy").is_in([OBSERVED, BOUND]))
    for because, columns in _DISPLACED.items():
        if not set(columns) <= set(rows.columns):
            continue
        for policy, many, unplaced in rows.select("policy", *columns).drop_nulls().rows():
            if many:
                yield Fact(
                    kind="displaced",
                    subject=policy,
                    value=many,
                    unit="containers",
                    because=because,
                    about={"unplaced": unplaced},
                )
