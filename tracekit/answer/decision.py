"""The decision that follows from a run: the policy, how sure, against what, and what stays open."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.answer.decision_words import (
    ahead,
    answer,
    beside_production,
    listed,
    not_told,
    value_of,
    why_not,
)
from tracekit.answer.fitness import (
    LeftOut,
    breaking,
    judged,
    left_out,
    rule,
)
from tracekit.answer.may_answer import (
    CONDITIONS,
    may_be_chosen,
    of_answer,
)
from tracekit.answer.preferred import (
    SIMPLE,
    best_of,
    held,
    in_order,
    preferred,
    production_holds,
    telling,
    why_first,
)
from tracekit.answer.standings import (
    Difference,
    Standing,
    Standings,
    difference,
    standings,
)
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import OBSERVED, Run
from tracekit.replay.runs.shown import shown

_QUESTION = "Which policy should place these containers?"


@dataclass(frozen=True, kw_only=True)
class MeasureTold:
    """A measure under the chosen policy, beside production.

    Parameters
    ----------
    against_production : Difference, optional
        Chosen less production; None where production's run is not known, or is the chosen one.
    """

    measure: str
    against_production: Difference | None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The decision, and its reasons.

    Parameters
    ----------
    question : str
        What was asked.
    answer : str
        The answer in one sentence; if nothing can be concluded, it says so, and why.
    chosen : tuple of str
        Policies that may be chosen: the best by ``criterion``, and those within chance of it by
        that and by the other measures that may answer. They stand in the order of
        ``answer.preferred``. Empty if nothing can be concluded.
    why_first : str
        Why the first of them is that, a clause; empty where it is the best by ``criterion``.
    criterion : str
        The measure that decided, also that production is kept; empty where none did.
    nearest : str
        Where production is kept, the policy that comes nearest to it; else empty.
    measures : tuple of MeasureTold
        What the first of the chosen comes to.
    simple : str
        The best simple rule; empty where none was replayed, or one of them came first.
    rule : str
        Which policies may be chosen at all, in one sentence.
    left_out : tuple of LeftOut
        Those that may not, of those that met all orders.
    unjudged : tuple of str
        Those that met fewer orders than others: nothing is said of them.
    not_told : tuple of str
        Sentences: what the run does not tell, and why.
    covers : tuple of str
        What differs between repeats, so that the intervals cover it.
    orders : int
        How many orders of arrival were met by the policies that met most.
    """

    question: str
    answer: str
    rule: str
    chosen: tuple[str, ...]
    why_first: str
    criterion: str
    nearest: str
    measures: tuple[MeasureTold, ...]
    simple: str
    left_out: tuple[LeftOut, ...]
    unjudged: tuple[str, ...]
    not_told: tuple[str, ...]
    covers: tuple[str, ...]
    orders: int

    @property
    def subject(self) -> str:
        """The policy that further questions are about; empty where there is none."""
        return next(iter(self.chosen), self.nearest)


@dataclass(frozen=True)
class _Kept:
    """The advice to keep production: words, the measure, and the nearest policy."""

    answer: str = ""
    criterion: str = ""
    nearest: str = ""


def decision(run: Results | Run | Path | str) -> Decision:
    """The decision that follows from a run; who places all goes before who does not."""
    found = results(run)
    barred = left_out(found)
    out = {name for one in barred for name in one.names}
    fit = may_be_chosen(found)
    measure, best = best_of(found, fit, breaking(barred))
    chosen = tuple(name for row in best for name in row.names if name != OBSERVED)
    simple = _simple(found, best[0].names, measure, out) if chosen else ""
    kept = _Kept() if chosen else _kept(found, fit, _judged_of(found, barred))
    return Decision(
        question=_QUESTION,
        answer=kept.answer or answer(found, best, measure, breaking(barred), held(found, fit)),
        rule=rule(found),
        chosen=chosen,
        why_first=_why_first(found, best, measure, fit) if chosen else "",
        criterion=measure or kept.criterion,
        nearest=kept.nearest,
        measures=_measures(found, chosen[0]) if chosen else (),
        simple=simple,
        left_out=_judged_of(found, barred),
        unjudged=tuple(name for name in found.policies if not judged(found, name)),
        not_told=tuple(not_told(found)),
        covers=found.covers,
        orders=found.most_orders,
    )


def _why_first(
    found: Results, best: Sequence[Standing], measure: str, fit: Sequence[tuple[str, ...]]
) -> str:
    """Why the first choice is that, where another's mean is better; a clause."""
    among = why_first(found, best, measure)
    top = None if among else ahead(found, best[0], measure, fit)
    return among if top is None else why_not(found, best[0], top, measure)


def _judged_of(found: Results, barred: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(one for one in barred if judged(found, one.names[0]))


def runner_up(found: Results, told: Decision) -> str:
    """The policy that the choice is compared with if production is unknown; empty for none.

    It is the best simple rule. Where the choice is a simple rule itself, it is the next best policy
    that may be chosen. Where no other may be chosen, it is the next best of the barred ones.
    """
    if told.simple or not told.criterion:
        return told.simple
    ours = {*told.chosen, *told.unjudged}
    barred = {name for one in told.left_out for name in one.names}
    others = [
        row.names for row in standings(found, told.criterion).rows if not ours & set(row.names)
    ]
    fit = [names for names in others if not barred & set(names)]
    return next((names[0] for names in [*fit, *others]), "")


def _simple(found: Results, chosen: Sequence[str], measure: str, out: set[str]) -> str:
    """The best of the simple rules that may be chosen, else of all; empty if one came first."""
    most = found.most_orders
    there = [name for name in found.policies if name in SIMPLE and found.orders(name) == most]
    if not there or set(there) & set(chosen):
        return ""
    fit = [name for name in there if name not in out] or there
    by = next((one.name for one in of_answer(found) if one.better), "")
    name = measure if measure not in CONDITIONS else by
    rows: Standings = standings(found, name)
    ranked = [one for row in rows.rows for one in row.names]
    return next((one for one in ranked if one in fit), "")


def _measures(found: Results, policy: str) -> tuple[MeasureTold, ...]:
    beside = OBSERVED in found.policies and policy != OBSERVED
    return tuple(
        MeasureTold(
            measure=one.name,
            against_production=difference(found, policy, OBSERVED, one.name) if beside else None,
        )
        for one in of_answer(found)
        if standings(found, one.name).row(policy) is not None
    )


def _kept(found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]) -> _Kept:
    """The advice to keep production, if it holds the load and no policy is better."""
    if not production_holds(found, barred):
        return _Kept()
    keep = "Keep the placement of production: no policy is better beyond chance by what decides."
    # where production has what the best has there is nothing to set beside each other
    tells = [
        (one, stand)
        for one, stand in telling(found, fit)
        if stand.best[0].mean != float(found.of(OBSERVED, one.name).mean())
    ]
    if tells:
        one, stand = tells[0]
        best, near = stand.best[0], preferred(found, stand.best)[0]
        usual = shown(one, float(found.of(OBSERVED, one.name).mean()), None, unit=True)
        said = f"{keep} {beside_production(found, one, near, usual)}"
        if why := why_first(found, (near, *stand.best), one.name):
            said += (
                f" {best.names[0]} has {value_of(one, best)}, which is within chance of that;"
                f" {near.names[0]} comes first: {why}."
            )
        return _Kept(said, one.name, near.names[0])
    known = next((name for name in CONDITIONS if found.known(OBSERVED, name)), "")
    rows = in_order(found, fit, known) if known else ()
    if not (rows and barred):
        return _Kept()
    others = sum(len(one.names) for one in barred)
    names = [name for row in rows for name in row.names if name != OBSERVED]
    if not names:
        return _Kept()
    said = (
        f"{keep} {listed(names)} {'hold' if len(names) > 1 else 'holds'} the load as it does,"
        f" {others} other{'s do' if others > 1 else ' does'} not."
    )
    return _Kept(said, known, names[0])
