"""The effect of each changed assumption on the decision and on the ranks of policies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from tracekit.answer.admissible import waits_too_much
from tracekit.answer.decide import Choice
from tracekit.answer.standings import Standing, Standings, difference, standings
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, Verdict
from tracekit.base.study import Study
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: How the recommended policy stands under a change.
Stands = Literal["same", "barred", "another policy", "undecided", "nothing changes"]
#: The policy that is recommended as assumed is not the one here.
TURNED: tuple[Stands, ...] = ("barred", "another policy")


def stands(usual: Choice, here: Choice) -> Stands:
    """Whether the policy recommended as assumed is recommended here, too."""
    if "few_orders" in (usual.because, here.because) or not (usual.policy and here.policy):
        return "undecided"
    if usual.policy in {one.policy for one in here.barred}:
        return "barred"
    return "same" if usual.policy == here.policy else "another policy"


BASE = "as assumed"

_RANKS = {
    "change": pl.String,
    "policy": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "rank": pl.Float64,
    "best": pl.Boolean,
    OVERLOAD: pl.Float64,
    "pending": pl.Float64,
    "waited": pl.Boolean,
    "barred": pl.String,
}
_MOVES = {
    "change": pl.String,
    "stands": pl.String,
    "policy": pl.String,
    "because": pl.String,
    "decided_by": pl.String,
    "agreement": pl.Float64,
    "first": pl.String,
    "most_moved": pl.String,
    "places": pl.Float64,
    "problem": pl.String,
}


def ranked(
    found: Mapping[str, Results], measure: str, choices: Mapping[str, Choice]
) -> pl.DataFrame:
    """Ranks within each change; none where the workload lacks the measure, as it may change too."""
    rows: list[dict[str, Any]] = []
    for change, one in found.items():
        ours = [policy for policy in one.policies if one.has_value(policy, measure)]
        if change == BASE and not set(ours) - {OBSERVED}:
            raise TracekitError(f"the workload has no measure '{measure}'")
        ranks = _ranks(one, measure) if ours else {}
        rows += [
            {
                "change": change,
                "policy": policy,
                **ranks.get(policy, {"best": False}),
                OVERLOAD: _mean(one, policy, OVERLOAD),
                "pending": _mean(one, policy, "pending"),
                "waited": waits_too_much(one, policy),
                "barred": _barred(choices[change]).get(policy),
            }
            for policy in [*ranks, *(name for name in one.policies if name not in ranks)]
        ]
    return pl.DataFrame(rows, schema=_RANKS)


def _barred(choice: Choice) -> dict[str, str]:
    return {one.policy: one.because for one in choice.barred}


def _ranks(found: Results, measure: str) -> dict[str, dict[str, Any]]:
    """Mean, interval and rank of each policy, the best first."""
    stand = standings(found, measure)
    return {
        policy: {
            "value": row.mean,
            "low": row.low,
            "high": row.high,
            "rank": _rank(found, stand, row),
            "best": row in stand.best,
        }
        for row in stand.rows
        for policy in row.names
    }


def _mean(found: Results, policy: str, name: str) -> float | None:
    return float(found.of(policy, name).mean()) if found.has_value(policy, name) else None


def _rank(found: Results, stand: Standings, row: Standing) -> float:
    """1 and one more for each policy that is better beyond chance; those that waited come last.

    A policy within chance of the best has rank 1, even where another policy differs from it.
    """
    if row in stand.best:
        return 1.0
    ours = [other for other in stand.rows if not other.waited]
    if row.waited:
        return 1.0 + sum(len(other.names) for other in ours)
    sign = 1 if found.measures[stand.measure].first == "low" else -1
    better = 0
    for other in ours if stand.tells else ():
        apart = difference(found, row.names[0], other.names[0], stand.measure)
        if apart is not None and apart.apart and sign * apart.mean > 0:
            better += len(other.names)
    return 1.0 + better


def moved_by(
    ranks: pl.DataFrame,
    choices: Mapping[str, Choice],
    problems: Mapping[str, str],
    unchanged: Sequence[str] = (),
) -> pl.DataFrame:
    """The effect of each change on the answer and the ranks; the largest first."""
    usual = choices[BASE]
    base = dict(ranks.filter(change=BASE).select("policy", "rank").drop_nulls().rows())
    rows: list[dict[str, Any]] = []
    for (change,), part in ranks.group_by("change", maintain_order=True):
        if change == BASE:
            continue
        here = choices[str(change)]
        rows.append(
            {
                "change": change,
                "stands": stands(usual, here),
                "policy": here.policy or None,
                "because": here.because,
                "decided_by": here.measure or None,
                **_moved(base, dict(part.select("policy", "rank").drop_nulls().rows())),
                "first": ", ".join(part.filter("best")["policy"]) or None,
                "problem": None,
            }
        )
    rows += [{"change": change, "stands": "nothing changes"} for change in unchanged]
    rows += [{"change": change, "problem": what} for change, what in problems.items()]
    known = {one: at for at, one in enumerate((*TURNED, "undecided", "same", "nothing changes"))}
    order = pl.col("stands").replace_strict(known, default=len(known), return_dtype=pl.Int64)
    return pl.DataFrame(rows, schema=_MOVES).sort(order, "agreement", "change", nulls_last=True)


def _moved(base: Mapping[str, float], here: Mapping[str, float]) -> dict[str, Any]:
    """How far ranks agree, and who moved most, of those that are ranked under both."""
    both = [name for name in here if name in base]
    if len(both) < 2:
        return {}
    old, new = [base[name] for name in both], [here[name] for name in both]
    from scipy import stats  # noqa: PLC0415 - slow to import

    tau = stats.kendalltau(old, new).statistic
    moved = max(both, key=lambda name: abs(here[name] - base[name]))
    return {
        # where one side ranks all the same it agrees with nothing and contradicts nothing
        "agreement": float(old == new) if tau != tau else float(tau),  # noqa: PLR0124
        "most_moved": moved,
        "places": float(abs(here[moved] - base[moved])),
    }


_VERDICTS: Mapping[str, Verdict] = {
    "same": "same",
    "nothing changes": "same",
    "undecided": "cannot_tell",
    "barred": "worse",
    "another policy": "worse",
}


def facts_of_changes(study: Study) -> Iterator[Fact]:
    """One fact for each change: whether the recommended policy is another one."""
    usual = study.about["policy"]
    for row in study.frames["changes"].to_dicts():
        name, _, value = row["change"].partition("=")
        if row["problem"] is not None:
            yield Fact(
                kind="assumption_matters", subject=name, value=value, because="failed", rank=2
            )
            continue
        verdict = _VERDICTS[row["stands"]]
        yield Fact(
            kind="assumption_matters",
            subject=name,
            value=value,
            against=usual,
            verdict=verdict,
            because="barred" if row["stands"] == "barred" else "",
            rank=1 if verdict == "worse" else 2,
            about={"policy": row["policy"], "agreement": row["agreement"]},
        )
