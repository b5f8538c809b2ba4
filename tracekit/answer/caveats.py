"""Caveats: facts that qualify the numbers of a replay or of a store."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from tracekit.analysis.callgraph.run import CallGraphs
from tracekit.base.constants import MATERIAL
from tracekit.base.facts import Answer, Fact, answer_of, fact_of, kinds
from tracekit.base.words import words_of
from tracekit.cluster.provenance import BETWEEN, BETWEEN_PERCENT, LOST
from tracekit.replay.measures import CONFLICTS
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND, OBSERVED

#: The proposed step is this many times finer where containers live between two steps.
FINER = 10
#: The number of kinds of waiting containers that become facts.
KINDS = 3
#: Columns of containers that lost their node, and of those that got no other node.
_DISPLACED = {
    "loss": ("evicted_by_loss", "unplaced_after_loss"),
    "eviction": ("evictions", "unplaced_after_eviction"),
}


def caveats(results: Results) -> Iterator[Fact]:
    """Yield the caveats of a replay: what its numbers leave out or distort.

    They are on containers that no measure counts, that fit on no node or that lost their node; on
    the workload; and on policies.
    """
    load = results.manifest.get("workload", {})
    of = load.get("containers") or 0
    counts = load.get("facts", {})
    unseen = counts.get(BETWEEN, 0)
    if unseen > MATERIAL * of:
        finer = max(load["step_ms"] // FINER, 1)
        yield Fact(
            kind="unjudged",
            subject="trace",
            value=unseen,
            unit="containers",
            about={
                "of": of,
                "time_fraction": counts.get(BETWEEN_PERCENT, 0) / 100 or None,
                "step_ms": finer,
            },
        )
    large = load.get("containers_too_large") or 0
    if large:
        yield Fact(
            kind="too_large", subject="trace", value=large, unit="containers", about={"of": of}
        )
    yield from (one for one in _remarks(results) if one.kind != "use_assumed")
    yield from counted(counts)
    yield from _displaced(results.summary)
    yield from _conflicts(results)
    for policy in results.manifest.get("policies", ()):
        yield from _waiting(policy)
        for note in policy.get("notes", ()):
            yield Fact(kind="note", subject=policy["policy"], about={"text": note})


def _conflicts(results: Results) -> Iterator[Fact]:
    """Decisions that had to be made again, where several schedulers place."""
    if CONFLICTS not in results.summary.columns:
        return
    rows = {row["policy"]: row for row in results.summary.iter_rows(named=True)}
    for policy in results.manifest.get("policies", ()):
        settings = policy["parameters"]
        if "schedulers.number" in settings:
            row = rows[policy["policy"]]
            orders = [row[CONFLICTS]]
            if results.repeats is not None and CONFLICTS in results.repeats.columns:
                mine = results.repeats.filter(policy=row["policy"])[CONFLICTS].to_list()
                orders = mine or orders
            again = len(orders) > 1
            yield Fact(
                kind="conflicts",
                subject=row["policy"],
                value=row[CONFLICTS],
                unit="decisions",
                low=min(orders) if again else None,
                high=max(orders) if again else None,
                about={
                    "orders": len(orders) if again else None,
                    "placed": row["placed"],
                    "schedulers": int(settings["schedulers.number"]),
                    "cache_age_ms": int(settings["schedulers.cache_age_ms"]),
                },
            )


#: The beginnings of names of counts by rule, and the cause of the fact of each.
_BY_RULE = {"constraint_": "constraint", "containers_not_held_": "not_held"}
#: Counts that other facts carry.
_ELSEWHERE = frozenset(
    {
        BETWEEN,
        BETWEEN_PERCENT,
        LOST,
        "containers_set_aside_too_large",
        "containers_set_aside_shut_out",
        "containers_set_aside_lacking",
        "containers_left_waiting",
        "containers_left_waiting_too_large",
        "containers_with_request_as_use",
        "containers_with_request_as_cpu_use",
        "containers_with_request_as_memory_use",
        "nodes_without_zone",
    }
)


def counted(counts: Mapping[str, int]) -> Iterator[Fact]:
    """Yield a fact for each nonzero count that was made while a workload was built.

    Counts of what distorts the replays come first.

    Parameters
    ----------
    counts : mapping of str to int
        The number of cases, by the name of what was counted.
    """
    distorting = kinds()["distorted"].short
    for kind in ("distorted", "counted"):
        for name, many in counts.items():
            if many and name not in _ELSEWHERE and (name in distorting) == (kind == "distorted"):
                start = next((one for one in _BY_RULE if name.startswith(one)), "")
                rule = name.removeprefix(start).replace("_", " ") if start else None
                yield Fact(
                    kind=kind,
                    subject="workload",
                    value=many,
                    because=_BY_RULE.get(start, name),
                    about={} if rule is None else {"rule": rule},
                )


def assumed_use(results: Results) -> Iterator[Fact]:
    """Yield a fact if requests stand for the use of some or all containers."""
    yield from (one for one in _remarks(results) if one.kind == "use_assumed")


def _remarks(results: Results) -> Iterator[Fact]:
    yield from map(fact_of, results.manifest.get("workload", {}).get("remarks", ()))


def _waiting(policy: Mapping[str, Any]) -> Iterator[Fact]:
    """The most frequent kinds of containers without a node at the end, and what they lack."""
    for one in policy.get("waiting", {}).get("kinds", ())[:KINDS]:
        lacking = max(one["in_the_way"], key=one["in_the_way"].get, default="")
        resource = lacking.removesuffix("_milli").removesuffix("_bytes")
        yield Fact(
            kind="waiting",
            subject=policy["policy"],
            value=one["containers"],
            unit="containers",
            because="kind",
            rank=3,
            about={
                "service": one["service"],
                "may_take": one["may_take"],
                "of": one["nodes"],
                "lacking": words_of(resource) if resource else None,
            },
        )


def _displaced(summary: pl.DataFrame) -> Iterator[Fact]:
    """Containers that lost their node in the first order of arrival."""
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


# What a store holds, and how far it can be trusted: facts of tables, quantities and defects.

#: Tables that give the span of the record; the first with rows is taken.
_TIMED = ("container_usage", "node_usage", "container_amount", "service_rate", "call", "container")
#: The number of defects, the largest first, that have the usual rank; others have a lower one.
_LARGEST = 5
_BEHIND = 3


def answer_of_trace(document: Mapping[str, Any]) -> Answer:
    """Return the facts of a store, from the document of ``describe`` or of ``check``."""
    return answer_of(
        [
            *facts_of_tables(document["tables"]),
            *facts_of_quantities(document.get("quantities", {})),
            *facts_of_ledger(document.get("ledger", ())),
            *map(fact_of, document.get("doubts", ())),
        ]
    )


def facts_of_tables(tables: Mapping[str, Mapping[str, Any]]) -> Iterator[Fact]:
    """Yield the recorded time span, and the rows of each table.

    A table of which all rows were rejected has rank 1, the most important.
    """
    timed = next((tables[one] for one in _TIMED if tables.get(one, {}).get("span_ms")), None)
    if timed is not None:
        many = {
            name: max((int(one.get(name) or 0) for one in tables.values()), default=0) or None
            for name in ("containers", "nodes")
        }
        span = int(timed["span_ms"] or 0) + int(timed.get("step_ms") or 0)
        yield Fact(kind="span", subject="trace", value=span, unit="ms", about=many)
    for name, one in tables.items():
        lost = not one.get("rows") and bool(one.get("rejected"))
        yield Fact(
            kind="records",
            subject=name,
            value=one.get("rows"),
            unit="rows",
            because="none_kept" if lost else "",
            rank=1 if lost else None,
            about={part: one.get(part) for part in ("rejected", "duplicates_dropped", "step_ms")},
        )


def facts_of_quantities(origins: Mapping[str, str]) -> Iterator[Fact]:
    """Yield a fact for each quantity of a store, such as use: recorded, inferred or absent.

    ``origins`` has the one of these three words by the quantity's name.
    """
    for name, how in origins.items():
        yield Fact(kind="quantity", subject=name, value=how)


def facts_of_ledger(rows: Iterable[Mapping[str, Any]]) -> Iterator[Fact]:
    """Yield the defects of a store, most rows first, with the action taken on the rows."""
    ranked = sorted(rows, key=lambda row: -row["rows"])
    for place, row in enumerate(ranked):
        yield Fact(
            kind="defect",
            subject=row["defect"],
            value=row["rows"],
            unit="rows",
            rank=None if place < _LARGEST else _BEHIND,
            about={
                "table": row["table"],
                "column": row.get("column") or None,
                "share_fraction": row.get("share"),
                "action": row["action"],
            },
        )


def answer_of_call_graphs(graphs: CallGraphs) -> Answer:
    """Return the number of call graphs, the share of complete ones, and the records' defects."""
    counts = graphs.counts
    traces = max(counts["traces"], 1)
    first = Fact(
        kind="call_graphs",
        subject="traces",
        value=counts["traces"],
        rank=1,
        about={
            "broken_fraction": counts["with_missing_calls"] / traces,
            "whole_fraction": counts["connected"] / traces,
            **counts,
        },
    )
    lacks = (
        Fact(
            kind="defect",
            subject=row["defect"],
            value=row["count"],
            unit="events",
            about={"table": "call", "action": row["action"], "traces": row["traces"]},
        )
        for row in graphs.ledger.to_dicts()
    )
    return answer_of([first, *lacks])
