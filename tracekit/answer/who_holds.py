"""Which policies hold the load: first of all the one that clusters run already, in sentences."""

from collections.abc import Mapping

from tracekit.answer.decision import Decision
from tracekit.answer.fitness import IN_DOUBT, YARDSTICK, above_on_average, limits, yardstick
from tracekit.answer.left_waiting import waits_too_much
from tracekit.answer.preferred import USUAL
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.placement import all_policies
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.units import percent
from tracekit.words import agreeing, counted, few, listed

#: Up to so many policies that may be chosen are all named.
_NAMED = 8
#: What is said of policies whose mean alone is above a limit.
_BY = f"which chance may explain: {IN_DOUBT}."


def who_holds(found: Results, told: Decision) -> str:
    """Whether ``USUAL`` is barred and by what, who else may be chosen, and why the others may not.

    Empty where nothing bars a policy.
    """
    barred = {name: one.why for one in told.left_out for name in one.names if name != OBSERVED}
    if not barred:
        return ""
    ours = [name for name in found.policies if name != OBSERVED]
    out = {*barred, *told.unjudged}
    fit = [name for name in ours if name not in out and not yardstick(found, name)]
    perhaps = [name for name in fit if above_on_average(found, name)]
    others = [name for name in fit if name != USUAL and name not in perhaps]
    named = (listed if len(others) <= _NAMED else few)(others)
    said = [_usual(barred, told) if USUAL in ours and USUAL not in perhaps else ""]
    if USUAL in fit and USUAL not in perhaps:
        said.append(f"So may {named}." if others else "No other policy may.")
    else:
        said.append(f"{named} may be chosen." if others else "")
    if searches := [name for name in others if _search(found, name)]:
        are = "is a search" if len(searches) == 1 else "are searches"
        said.append(f"{few(searches)} {are} from papers, which no scheduler has built in.")
    if perhaps:
        said.append(_above(found, perhaps))
    return " ".join(filter(None, [*said, _barred(found, barred, len(ours))]))


def _search(found: Results, policy: str) -> bool:
    """Whether it searches for the placement of a whole batch, as no scheduler does."""
    known = found.manifest.get("policies") or ()
    name = next((str(one["name"]) for one in known if one["policy"] == policy), "")
    kind = all_policies().get(name.partition("+")[0])
    return kind is not None and kind.batched


def _above(found: Results, names: list[str]) -> str:
    """The policies above a limit by the mean alone, in how many orders; a sentence a limit."""
    by: dict[str, list[str]] = {}
    most = limits(found)
    for name in names:
        over = (
            one
            for one, limit in most.items()
            if found.known(name, one) and found.of(name, one).mean() > limit
        )
        by.setdefault(next(over, OVERLOAD), []).append(name)
    return " ".join(_above_limit(found, one, most.get(one), some) for one, some in by.items())


def _above_limit(found: Results, name: str, most: float | None, names: list[str]) -> str:
    """Who is above one limit; a sentence."""
    orders, alone = found.most_orders, len(names) == 1
    often = [] if most is None else [int((found.of(one, name) > most).sum()) for one in names]
    how = _how_often(often, orders) if often else ""
    if name == OVERLOAD or most is None:
        verb = "overloads" if alone else "overload"
        return f"{_first(names)} {verb} nodes more than allowed on average{how}, {_BY}"
    title = found.measures[name].title
    title = f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() else title
    return (
        f"Under {_first(names)} {title} is above the {percent(most)} allowed on average{how}, {_BY}"
    )


def _how_often(often: list[int], orders: int) -> str:
    """In how many orders policies are above a limit, a clause."""
    least, most = min(often), max(often)
    if least == most == orders:
        return f", in each of {counted(orders, 'order')}"
    return f", in {most if least == most else f'{least} to {most}'} of {counted(orders, 'order')}"


def _first(names: list[str]) -> str:
    """Some names, what clusters run already first."""
    return few(sorted(names, key=lambda name: name != USUAL))


def _usual(barred: dict[str, str], told: Decision) -> str:
    who = f"{USUAL}, which clusters run already,"
    if USUAL in told.unjudged:
        return f"{who} met too few orders of arrival to be judged."
    return f"{who} is barred: {barred[USUAL]}." if USUAL in barred else f"{who} may be chosen."


def _barred(found: Results, barred: Mapping[str, str], of: int) -> str:
    """How many are barred, and by what; ``barred``: why, by policy."""
    others = [name for name, why in barred.items() if why != YARDSTICK]
    waiting = sum(waits_too_much(found, name) for name in others)
    reasons = [
        (waiting, "[leaves|leave] containers waiting"),
        (len(others) - waiting, "[overloads|overload] nodes"),
        (len(barred) - len(others), "[is a yardstick|are yardsticks], which no scheduler runs"),
    ]
    told = [agreeing(many, text) for many, text in reasons if many]
    who = agreeing(len(barred), f"of {counted(of, 'policy')} [is|are] barred")
    if len(told) == 1:
        why = f"{'it' if len(barred) == 1 else 'they'} {told[0].partition(' ')[2]}"
        return f"{who}: {why}."
    return f"{who}: {listed(told)}."
