"""Which policies differ over several orders of arrival: as frames of a run, and in sentences."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.fitness import YARDSTICK, barred_for_good, left_out
from tracekit.answer.intervals import differences_of, interval_of
from tracekit.answer.left_waiting import waits_too_much
from tracekit.answer.may_answer import asked, may_be_chosen
from tracekit.answer.standings import Standings, standings
from tracekit.replay.chance.student import FEWEST, Compared
from tracekit.replay.measures import part_column
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.shown import few, shown
from tracekit.words import counted

_SCHEMA = {
    "policy_a": pl.String,
    "policy_b": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_corrected": pl.Float64,
    "separated": pl.Boolean,
    "family": pl.String,
    "all_placed": pl.Boolean,
}


def differences(found: Results) -> pl.DataFrame:
    """Every pair of the policies that met every order, by every measure: a's value less b's.

    Returns
    -------
    DataFrame
        policy_a, policy_b, measure, repeats, difference_mean; low, high: its interval at the level
        that the family of all comparisons leaves it; p of it alone and p_corrected after Holm;
        ``separated`` where it is beyond chance; family: whether it is one of the comparisons that
        a decision asks for, to which most of what may go wrong is left, or one of the ``others``,
        so that p_corrected of the one and of the other do not rank alike; ``all_placed`` where
        neither policy ever left a container waiting, so that both carried the same load.
    """
    most = found.most_orders
    names = [name for name in found.policies if found.orders(name) == most]
    first = {name: group[0] for group in found.groups for name in group}
    waited = {
        name: found.known(name, "pending") and bool(found.of(name, "pending").any())
        for name in names
    }
    columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA}
    for one, other in itertools.combinations(names, 2):
        columns["measure"] += found.measures
        for name, value in (
            ("policy_a", one),
            ("policy_b", other),
            ("repeats", most),
            ("all_placed", not (waited[one] or waited[other])),
        ):
            columns[name] += [value] * len(found.measures)
        part = _part(found, first[one], first[other])
        columns["family"] += _families(found, first[one], first[other])
        columns["difference_mean"] += part.mean.tolist()
        for name in ("low", "high", "p", "p_corrected", "separated"):
            columns[name] += getattr(part, name).tolist()
    if most < FEWEST:
        columns["low"] = columns["high"] = [None] * len(columns["low"])
    made = pl.DataFrame(columns, schema=_SCHEMA, strict=False)
    return made.with_columns(pl.col("low", "high", "p", "p_corrected").fill_nan(None))


def _families(found: Results, one: str, other: str) -> list[str | None]:
    """The family of a pair by measure; none where the two place alike."""
    if one == other:
        return [None] * len(found.measures)
    pairs, _ = differences_of(found)
    pair = (one, other) if (one, other) in pairs else (other, one)
    return ["decision" if ours else "others" for ours in asked(found, [pair]).tolist()]


def _part(found: Results, one: str, other: str) -> Compared:
    """The difference of two policies by each measure; no rows where they place alike."""
    many = len(found.measures)
    if one == other:
        none, unknown = np.zeros(many), np.full(many, np.nan)
        return Compared(
            mean=none,
            low=none,
            high=none,
            p=unknown,
            p_corrected=unknown,
            separated=np.zeros(many, dtype=np.bool_),
        )
    pairs, tested = differences_of(found)
    turned = (one, other) not in pairs
    at = pairs[(other, one) if turned else (one, other)] * many
    return tested.part(slice(at, at + many), turned=turned)


def with_intervals(found: Results) -> pl.DataFrame:
    """The summary with ``<measure>_repeats``, ``_low`` and ``_high``, each before its unit.

    They hold the mean over the repeats and the limits of its interval, which are those of
    ``Standing``; NULL for policies that were not repeated, as the bound.
    """
    names = [name for name in found.policies if found.orders(name) > 1]
    intervals = {name: interval_of(found, name) for name in names}
    columns: dict[str, list[object]] = {"policy": list(names)}
    for part in ("repeats", "low", "high"):
        field = "mean" if part == "repeats" else part
        for at, measure in enumerate(found.measures):
            values = [float(getattr(intervals[name], field)[at]) for name in names]
            columns[part_column(measure, part)] = [None if np.isnan(v) else v for v in values]
    kinds = {name: pl.String if name == "policy" else pl.Float64 for name in columns}
    made = pl.DataFrame(columns, schema=kinds)
    return found.summary.join(made, on="policy", how="left", maintain_order="left")


def sentences(found: Results, *, ours: Sequence[str]) -> list[str]:
    """Per measure that is spoken of: the best policy, and those within chance of it.

    For a measure with no better end the sentence names the lowest. For a measure that tells nothing
    it gives the reason.

    Parameters
    ----------
    ours : sequence of str
        The policies to speak of; one that left containers waiting is named and not compared, nor
        is one that met a single order.
    """
    most = max((found.orders(name) for name in ours), default=0)
    left = [name for name in ours if waits_too_much(found, name)]
    once = [name for name in ours if found.orders(name) < most and name not in left]
    groups = [names for names in found.groups if set(names) <= set(ours)]
    rivals = [names for names in groups if found.orders(names[0]) == most]
    spoken = [one.name for one in found.measures.values() if one.spoken]
    barred = _barred(found, rivals)
    rivals = [names for names in rivals if names not in barred]
    comparable = [names for names in rivals if not waits_too_much(found, names[0])]
    stands = [standings(found, one, among=rivals) for one in spoken if len(comparable) > 1]
    said = _sentences(found, stands)
    if left:
        said.append(f"left containers waiting, so not compared: {', '.join(left)}")
    for_good = [name for name in once if barred_for_good(found, name)]
    said += _barred_told(found, [*(name for names in barred for name in names), *for_good])
    unjudged = [name for name in once if name not in for_good]
    if unjudged and said:
        said.append(f"met one order of arrival alone, so not compared: {few(unjudged)}")
    return said


def _barred(found: Results, rivals: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rivals that may not be chosen; none if fewer than two would be left.

    A decision leaves little of what may go wrong to comparisons with them. So they would nearly
    always stand "within chance" of the best, wherever they are.
    """
    may = may_be_chosen(found)
    fit = [names for names in rivals if names in may]
    out = [names for names in rivals if names not in fit and not waits_too_much(found, names[0])]
    return out if len(fit) > 1 else []


def _barred_told(found: Results, barred: Sequence[str]) -> list[str]:
    """Who may not be chosen, a sentence for each reason."""
    whys = {name: one.why for one in left_out(found) for name in one.names}
    sticks = [name for name in barred if whys.get(name) == YARDSTICK]
    others = [name for name in barred if name not in sticks]
    named = {
        "overload nodes too much to be chosen, so not compared": others,
        "yardsticks, which no scheduler runs, so not compared": sticks,
    }
    return [f"{why}: {few(names)}" for why, names in named.items() if names]


def _sentences(found: Results, stands: Sequence[Standings]) -> list[str]:
    """A sentence for each measure; one for all those that tell nothing for the same reason."""
    alike: dict[str, list[Standings]] = {}
    for stand in stands:
        alike.setdefault(stand.why_not or stand.measure, []).append(stand)
    return [
        _sentence(found, some[0])
        if some[0].tells
        else f"{few([found.measures[one.measure].title for one in some])}: {why}"
        for why, some in alike.items()
    ]


def _sentence(found: Results, stand: Standings) -> str:
    measure = found.measures[stand.measure]
    best, *alike = stand.best
    value = shown(measure, best.mean, best.reach, below=best.below, unit=True)
    what = "lowest" if measure.first == "low" else "highest"
    others = [", ".join(row.names) for row in alike]
    tail = f"; within chance of it: {'; '.join(others)}" if others else "; all others differ"
    usual = standings(found, stand.measure).row(OBSERVED) if OBSERVED in found.policies else None
    beside = "" if usual is None else f". Production: {shown(measure, usual.mean, None, unit=True)}"
    return (
        f"{measure.title}: {what} under {', '.join(best.names)} ({value},"
        f" {counted(best.orders, 'order')})"
        f"{tail}{beside}"
    )
