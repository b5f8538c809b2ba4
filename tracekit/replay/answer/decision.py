"""The decision that follows from a run: the policy, how sure, against what, and what stays open."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.replay.answer.decision_words import (
    answer,
    beside_production,
    listed,
    not_told,
    value_of,
)
from tracekit.replay.answer.fitness import (
    LeftOut,
    above_on_average,
    breaking,
    judged,
    left_out,
    production_overloads,
    rule,
)
from tracekit.replay.answer.may_answer import (
    CONDITIONS,
    broken_condition,
    may_answer,
    may_be_chosen,
    of_answer,
)
from tracekit.replay.answer.overload import OVERLOAD
from tracekit.replay.answer.preferred import SIMPLE, better_than_production, preferred, why_first
from tracekit.replay.answer.standings import (
    Difference,
    Standing,
    Standings,
    difference,
    standings,
)
from tracekit.replay.chance.material import MATERIAL
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import Measure
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import OBSERVED, Run
from tracekit.replay.runs.shown import shown

#: Decides where no policy is better than production by a measure that has a better end.
NODES = "nodes_used_mean"

_QUESTION = "Which policy should place these containers?"


@dataclass(frozen=True, kw_only=True)
class Told:
    """A measure under the chosen policy, beside production and the best simple rule.

    Parameters
    ----------
    against_production, against_simple : Difference, optional
        Chosen less the other; None where there is no such run, or it is the chosen one itself.
    """

    measure: str
    standing: Standing
    against_production: Difference | None
    against_simple: Difference | None


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
        Policies that may be chosen: the best by ``criterion`` and those within chance of it, by
        that and by the other measures that may answer, in the order of ``runs.preferred``. Empty if
        nothing can be concluded.
    why_first : str
        Why the first of them is that, a clause; empty where it is the best by ``criterion``.
    criterion : str
        The measure that decided, also that production is kept; empty where none did.
    nearest : str
        Where production is kept, the policy that comes nearest to it; else empty.
    measures : tuple of Told
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
    measures: tuple[Told, ...]
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
    """The decision that follows from a run."""
    found = results(run)
    barred = left_out(found)
    out = {name for one in barred for name in one.names}
    fit = may_be_chosen(found)
    measure, best = _best(found, fit, breaking(barred))
    chosen = tuple(name for row in best for name in row.names if name != OBSERVED)
    simple = _simple(found, best[0].names, measure, out) if chosen else ""
    kept = _Kept() if chosen else _kept(found, fit, _judged_of(found, barred))
    return Decision(
        question=_QUESTION,
        answer=kept.answer or answer(found, best, measure, breaking(barred), _held(found, fit)),
        rule=rule(found),
        chosen=chosen,
        why_first=why_first(found, best, measure) if chosen else "",
        criterion=measure or kept.criterion,
        nearest=kept.nearest,
        measures=_measures(found, chosen[0], simple) if chosen else (),
        simple=simple,
        left_out=_judged_of(found, barred),
        unjudged=tuple(name for name in found.policies if not judged(found, name)),
        not_told=tuple(not_told(found)),
        covers=found.covers,
        orders=found.most_orders,
    )


def _held(found: Results, fit: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Those that overload no more than allowed on average: others are not recommended."""
    return [names for names in fit if not above_on_average(found, names[0])]


def _judged_of(found: Results, barred: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(one for one in barred if judged(found, one.names[0]))


def _best(
    found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]
) -> tuple[str, tuple[Standing, ...]]:
    """The first measure that tells the policies apart which may be chosen, and its best rows.

    Where production is known, the best has to be better than production by it. Where none is,
    those come first that need fewer nodes than production, if nodes without containers are free.
    Where nothing tells, but others may not
    be chosen, what they must not do tells them apart.
    """
    relieved, tells = _relieving(found, fit), _telling(found, fit)
    # the lowest mean may be a noisy one that nothing is told of; what is told counts
    for by, rows in (
        (OVERLOAD, relieved),
        *((one.name, _first(found, stand.best, one.name)) for one, stand in tells),
        _alone_better(found, _held(found, fit)),
        (NODES, _fewer_nodes(found, fit)),
    ):
        if rows:
            return by, rows
    if tells and not any(_less_overload(found, names[0]) for names in fit):
        return "", ()
    broken = broken_condition(found, fit, barred)
    rows = _in_order(found, fit, broken) if broken else ()
    if not rows or all(one.names == (OBSERVED,) for one in barred):
        return "", ()
    return ("", ()) if _production_holds(found, barred) else (broken, rows)


def _first(found: Results, rows: Sequence[Standing], measure: str) -> tuple[Standing, ...]:
    """Those that are better than production, the first choice first."""
    better = _better_rows(found, rows, measure)
    return preferred(found, better) if better else ()


def _relieving(found: Results, fit: Sequence[tuple[str, ...]]) -> tuple[Standing, ...]:
    """The policies that overload less than production, where it does so more than a little."""
    if not production_overloads(found):
        return ()
    stand = standings(found, OVERLOAD, among=fit)
    return _first(found, stand.best or stand.rows, OVERLOAD)


def _alone_better(
    found: Results, fit: Sequence[tuple[str, ...]]
) -> tuple[str, tuple[Standing, ...]]:
    """The first measure by which the only policy that may be chosen is better than production."""
    if len(fit) != 1 or OBSERVED not in found.policies:
        return "", ()
    for one in may_answer(found):
        better = _better_rows(found, standings(found, one.name, among=fit).rows, one.name)
        if better:
            return one.name, tuple(better)
    return "", ()


def _in_order(found: Results, fit: Sequence[tuple[str, ...]], measure: str) -> tuple[Standing, ...]:
    """The policies that met enough orders and cannot be told apart, in their order."""
    rows = (standings(found, measure).row(names[0]) for names in _held(found, fit))
    return preferred(found, [row for row in rows if row is not None and row.orders >= FEWEST])


def _production_holds(found: Results, barred: Sequence[LeftOut]) -> bool:
    """Whether production's placement is known and does nothing that bars a policy."""
    return OBSERVED in found.policies and all(OBSERVED not in one.names for one in barred)


def _better_rows(found: Results, rows: Sequence[Standing], measure: str) -> list[Standing]:
    held = [row for row in rows if not above_on_average(found, row.names[0])]
    return [row for row in held if better_than_production(found, row.names[0], measure)]


def _telling(found: Results, fit: Sequence[tuple[str, ...]]) -> list[tuple[Measure, Standings]]:
    """The measures that may answer and tell policies apart, in order, with how these stand."""
    every = ((one, standings(found, one.name, among=fit)) for one in may_answer(found))
    return [(one, stand) for one, stand in every if stand.tells]


def _less_overload(found: Results, policy: str) -> bool:
    told = difference(found, policy, OBSERVED, OVERLOAD)
    return told is not None and told.apart and told.mean < 0


def _fewer_nodes(found: Results, fit: Sequence[tuple[str, ...]]) -> tuple[Standing, ...]:
    """The policies with the fewest nodes, if production uses more beyond chance."""
    if not (found.known(OBSERVED, NODES) and fit):
        return ()
    # a node that holds no container is in use by what no container explains: it cannot go
    if background(found.manifest.get("workload", {})):
        return ()
    best = standings(found, NODES, among=fit).best
    if not best:
        return ()
    told = difference(found, best[0].names[0], OBSERVED, NODES)
    usual = float(found.of(OBSERVED, NODES).mean())
    fewer = told is not None and told.apart and told.mean < -MATERIAL * usual
    return preferred(found, _better_rows(found, best, NODES)) if fewer else ()


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


def _measures(found: Results, policy: str, simple: str) -> tuple[Told, ...]:
    told = []
    for one in of_answer(found):
        row = standings(found, one.name).row(policy)
        if row is None:
            continue
        others = (
            difference(found, policy, other, one.name)
            if other in found.policies and other != policy
            else None
            for other in (OBSERVED, simple)
        )
        production, rule = others
        told.append(
            Told(
                measure=one.name,
                standing=row,
                against_production=production,
                against_simple=rule,
            )
        )
    return tuple(told)


def _kept(found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]) -> _Kept:
    """The advice to keep production, if it holds the load and no policy is better."""
    if not _production_holds(found, barred):
        return _Kept()
    keep = "Keep the placement of production: no policy is better beyond chance."
    tells = _telling(found, fit)
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
    rows = _in_order(found, fit, known) if known else ()
    if not (rows and barred):
        return _Kept()
    others = sum(len(one.names) for one in barred)
    names = [name for row in rows for name in row.names]
    said = (
        f"{keep} {listed(names)} {'hold' if len(names) > 1 else 'holds'} the load as it does,"
        f" {others} other{'s do' if others > 1 else ' does'} not."
    )
    return _Kept(said, known, names[0])
