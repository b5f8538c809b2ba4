"""The effect of each changed assumption on the answer and on the ranks of policies.

Each change is judged as a run is, by ``decision`` and ``advice``: which policies are barred, which
is chosen, and whether production is kept, also where a policy is a trade for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.answer.advice import keeps_production, sentence
from tracekit.answer.decision import Decision, decision
from tracekit.answer.left_waiting import waits_too_much
from tracekit.answer.may_answer import CONDITIONS
from tracekit.answer.standings import Standing, Standings, difference, standings
from tracekit.errors import TracekitError
from tracekit.replay.measures import OVERLOAD, find_measure, small
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: How the answer under the defaults stands under a change.
SAME, BARRED, KEPT, OTHER, TRADE, UNTOLD = (
    "same", "barred", "production kept", "another policy", "another trade", "not told",
)  # fmt: skip
#: The answer where no policy can be chosen.
NOBODY = "none"
#: The change leaves the workload as it is.
NOTHING = "nothing changes"
#: The answer turns over.
TURNED = (BARRED, KEPT, OTHER, TRADE)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The answer of a run.

    Parameters
    ----------
    names : tuple of str
        Policies any of which may be chosen, the first choice first; ``OBSERVED`` where production
        is kept; empty where nothing can be told.
    trades : tuple of str
        Where production is kept, the policies any of which is a trade for it: better by one measure
        and worse by another.
    subject : str
        The policy that further questions are about; empty where there is none.
    criterion : str
        The measure that decided; empty where none did.
    said : str
        The answer in one sentence.
    barred : mapping of str to str
        The barred policies, each with the reason as a clause.
    """

    names: tuple[str, ...]
    trades: tuple[str, ...] = ()
    subject: str
    criterion: str
    said: str
    barred: Mapping[str, str]

    @property
    def first(self) -> str:
        """The answer itself; empty where nothing can be told."""
        return next(iter(self.names), "")

    @property
    def text(self) -> str:
        """The answer in a word or two."""
        if self.first == OBSERVED:
            unless = f", unless the trade with {self.trades[0]} is worth it" if self.trades else ""
            return f"keep production{unless}"
        return ", ".join(self.names) or NOBODY


def answered(found: Results, told: Decision | None = None) -> Answered:
    """The answer of a run with these results; ``told`` is its decision where that is known."""
    told = told or decision(found)
    said = sentence(found, told)
    keeps = keeps_production(found, told)
    return Answered(
        names=(OBSERVED,) if keeps else told.chosen,
        trades=told.chosen if keeps else (),
        subject=told.subject,
        criterion=told.criterion,
        said=said,
        barred={name: one.why for one in told.left_out for name in one.names},
    )


def stands(usual: Answered, here: Answered) -> str:
    """Whether the answer under the defaults is the answer here, and may be chosen at all."""
    if not usual.first:
        return UNTOLD
    if usual.first in here.barred:
        return BARRED
    if usual.first in here.names:
        return SAME if _trade_alike(usual, here) else TRADE
    if not here.first:
        return UNTOLD
    return KEPT if here.first == OBSERVED else OTHER


def _trade_alike(usual: Answered, here: Answered) -> bool:
    """Whether the first trade for production is a trade here, too; or whether neither has one."""
    return set(usual.trades[:1]) <= set(here.trades) and bool(usual.trades) == bool(here.trades)


def why(usual: Answered, here: Answered) -> str:
    """Why the answer does not stand, a clause; empty where it does."""
    how = stands(usual, here)
    if how == BARRED:
        return here.barred[usual.first]
    if how in {KEPT, TRADE}:
        return _why_kept(usual, here)
    if how == OTHER:
        return decided_by(here.criterion)
    # the sentence without its "No policy can be recommended"
    return here.said.partition(": ")[2].rstrip(".") if how == UNTOLD and not here.first else ""


def _why_kept(usual: Answered, here: Answered) -> str:
    """Why production is kept here, or is no longer beside the same trade; a clause."""
    if here.trades:
        return f"{here.trades[0]} is better {decided_by(here.criterion)} and worse otherwise"
    if usual.trades and usual.trades[0] in here.barred:
        return here.barred[usual.trades[0]]
    return "no policy is better than production beyond chance"


def decided_by(criterion: str) -> str:
    """The measure by which a policy was chosen, a clause."""
    measure = find_measure(criterion)
    if criterion in CONDITIONS or measure is None:
        return "as others do not hold the load"
    return f"by {small(measure.title)}"


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
    "answer": pl.String,
    "why": pl.String,
    "decided_by": pl.String,
    "agreement": pl.Float64,
    "first": pl.String,
    "most_moved": pl.String,
    "places": pl.Float64,
    "problem": pl.String,
}


def ranked(
    found: Mapping[str, Results], measure: str, answers: Mapping[str, Answered]
) -> pl.DataFrame:
    """Ranks within each change; none where the workload lacks the measure, as it may change too."""
    rows: list[dict[str, Any]] = []
    for change, one in found.items():
        ours = [policy for policy in one.policies if one.known(policy, measure)]
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
                "barred": answers[change].barred.get(policy),
            }
            for policy in [*ranks, *(name for name in one.policies if name not in ranks)]
        ]
    return pl.DataFrame(rows, schema=_RANKS)


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
    return float(found.of(policy, name).mean()) if found.known(policy, name) else None


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
    answers: Mapping[str, Answered],
    problems: Mapping[str, str],
    unchanged: Sequence[str] = (),
) -> pl.DataFrame:
    """The effect of each change on the answer and the ranks; the largest first."""
    usual = answers[BASE]
    base = dict(ranks.filter(change=BASE).select("policy", "rank").drop_nulls().rows())
    rows: list[dict[str, Any]] = []
    for (change,), part in ranks.group_by("change", maintain_order=True):
        if change == BASE:
            continue
        here = answers[str(change)]
        rows.append(
            {
                "change": change,
                "stands": stands(usual, here),
                "answer": here.text,
                "why": why(usual, here) or None,
                "decided_by": here.criterion or None,
                **_moved(base, dict(part.select("policy", "rank").drop_nulls().rows())),
                "first": ", ".join(part.filter("best")["policy"]) or None,
                "problem": None,
            }
        )
    rows += [{"change": change, "stands": NOTHING} for change in unchanged]
    rows += [{"change": change, "problem": what} for change, what in problems.items()]
    known = {one: at for at, one in enumerate((*TURNED, UNTOLD, SAME, NOTHING))}
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
