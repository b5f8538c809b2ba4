"""A decision in sentences: the answer, or why there is none; what stays open."""

from collections.abc import Mapping, Sequence

from tracekit.answer.all_wait import all_wait
from tracekit.answer.amounts import difference_text
from tracekit.answer.fitness import LeftOut, above_on_average, judged
from tracekit.answer.intervals import SEED_ALONE, untested
from tracekit.answer.left_waiting import few_wait, waits_too_much
from tracekit.answer.may_answer import CONDITIONS, may_answer, of_answer, placing_all
from tracekit.answer.preferred import better_than_production, why_first
from tracekit.answer.standings import Standing, difference, standings
from tracekit.replay.chance.material import too_near
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import Measure, small, words_of
from tracekit.replay.runs.results import Results, too_few
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.runs.shown import few, shown
from tracekit.words import and_more, counted

#: Less of a resource than this share is the containers' own: no policy can move more.
SMALL_SHARE = 0.2

#: How many policies the answer names.
_LISTED = 5
#: The most measures that are named against the policy with the best mean.
_NAMED = 2


def answer(
    found: Results,
    best: Sequence[Standing],
    measure: str,
    barred: Sequence[LeftOut],
    fit: Sequence[tuple[str, ...]],
) -> str:
    """The answer in one sentence; if nothing can be concluded, it says so, and why.

    Parameters
    ----------
    best : sequence of Standing
        The policies that are recommended, the first choice first; empty where there are none.
    measure : str
        The measure that decided.
    barred, fit : sequences
        The barred policies, and those that may be chosen.
    """
    chosen = [name for row in best for name in row.names]
    count = sum(len(names) for names in fit if judged(found, names[0]))
    every = sum(1 for name in found.policies if name != OBSERVED and judged(found, name))
    orders = found.most_orders
    if not chosen:
        why = [_why_none(found, fit, barred), *_unmovable(found)]
        return f"No policy can be recommended: {'; '.join(why)}."
    if measure in CONDITIONS and not _surely_better(found, chosen[0], measure):
        return _holding(found, chosen, fit, every, why_first(found, best, measure))
    others = [name for row in best[1:] for name in row.names]
    # beside production others are left out, too, as they are not better than it
    alone = count > 1 and OBSERVED not in found.policies
    tail = "all others that may be chosen differ beyond chance" * alone
    tail = f"within chance of it: {few(others)}" if others else tail
    tail = f"; {tail}" if tail else ""
    every_of = f"{count} policies that may be chosen"
    if len(placing_all(found, fit)) < len(fit) and not found.waited(chosen[0]):
        every_of = "the policies that may be chosen and place all"
    leading = _leading(found, best, measure, every_of, ahead(found, best[0], measure, fit))
    return f"{leading}, in {counted(orders, 'order')} of arrival{tail}."


def _surely_better(found: Results, policy: str, measure: str) -> bool:
    return OBSERVED in found.policies and better_than_production(found, policy, measure)


def _leading(
    found: Results, best: Sequence[Standing], measure: str, among: str, top: Standing | None
) -> str:
    """A clause with the value of the first, and with the best mean where ``top`` has it."""
    one, first = found.measures[measure], best[0]
    end = "lowest" if one.first == "low" else "highest"
    about, value = f"{', '.join(first.names)}: {small(one.title)}", value_of(one, first)
    why = why_first(found, best, measure)
    if among.startswith("1 "):
        only = f"{', '.join(first.names)}, the only policy that may be chosen"
        return f"{only}: {small(one.title)} is {value}"
    if top is None:
        return f"{about} is the {end} of {among} ({value})"
    why = why or why_not(found, first, top, measure)
    said = f"; {first.names[0]} goes first: {why}" if why else ""
    return (
        f"{about} is {value}, within chance of the {end} of {among}"
        f" ({top.names[0]}, {value_of(one, top)}{said})"
    )


def ahead(
    found: Results, first: Standing, measure: str, fit: Sequence[tuple[str, ...]]
) -> Standing | None:
    """The row of the best mean of those that may be chosen; None where the first choice has it."""
    sign = 1 if found.measures[measure].first == "low" else -1
    rows = [
        row
        for row in standings(found, measure, among=fit).rows
        if row.orders >= FEWEST and not row.waited and OBSERVED not in row.names
    ]
    best = min(rows, key=lambda row: sign * row.mean, default=first)
    nearer = sign * best.mean < sign * first.mean
    return best if nearer and best.names != first.names else None


def why_not(found: Results, first: Standing, other: Standing, measure: str) -> str:
    """Why the policy with the best mean is not chosen, a clause; empty where no measure tells."""
    worse = [
        small(one.title)
        for one in may_answer(found)
        if (told := difference(found, other.names[0], first.names[0], one.name)) is not None
        and told.apart
        and (told.mean > 0) == (one.better == "low")
        and not too_near(one, [found.of(row.names[0], one.name).mean() for row in (first, other)])
    ]
    if not worse:
        return ""
    value = shown(found.measures[measure], other.mean, other.reach, below=other.below, unit=True)
    by = and_more(worse[:_NAMED], len(worse))
    return f"{other.names[0]}, at {value} within chance of it, is worse by {by}"


def beside_production(found: Results, measure: Measure, best: Standing, usual: str) -> str:
    """What the best policy comes to beside production, by a measure; a sentence."""
    apart = difference(found, best.names[0], OBSERVED, measure.name)
    by, value = f"By {small(measure.title)}", value_of(measure, best)
    if apart is None or not apart.mean or (apart.mean < 0) != (measure.better == "low"):
        first = f"{best.names[0]}, which comes nearest,"
        return f"{by} production comes to {usual}, {first} to {value}."
    return (
        f"{by} {best.names[0]} comes nearest to being better: {value} against {usual}, a difference"
        f" of {difference_text(measure, apart)}. Production is one draw, so that chance may explain"
        " as much."
    )


def value_of(measure: Measure, row: Standing) -> str:
    """The mean of a row with half of its interval, in the measure's unit."""
    return shown(measure, row.mean, row.reach, below=row.below, unit=True)


def _holding(
    found: Results, chosen: Sequence[str], fit: Sequence[tuple[str, ...]], count: int, why: str
) -> str:
    """The policies that hold the load, where nothing else sets them apart from the others."""
    others = sum(len(names) for names in fit) - len(chosen)
    once = sum(1 for name in found.policies if not judged(found, name))
    do = "holds" if len(chosen) == 1 else "hold"
    more = "more than production does" if OBSERVED in found.policies else "at all"
    tails = [
        "they do not differ beyond chance among themselves" if len(chosen) > 1 else "",
        f"{chosen[0]} goes first: {why}" if why else "",
        f"{once} more met too few orders to be judged" if once else "",
    ]
    alone = "" if others else " alone"
    holding = (
        f"Of {count} policies {listed(chosen)}{alone} {do} the load without overloading nodes"
        f" {more} or leaving containers waiting, in {counted(found.most_orders, 'order')} of"
        " arrival"
    )
    return "; ".join([holding, *(tail for tail in tails if tail)]) + "."


def listed(names: Sequence[str]) -> str:
    """The names, of many the first."""
    shown_names = names if len(names) <= _LISTED else names[: _LISTED - 1]
    return and_more(shown_names, len(names))


def _none_fits(found: Results, barred: Sequence[LeftOut]) -> str:
    """Why no policy may be chosen, a clause."""
    ours = [one for one in barred if one.names != (OBSERVED,)]
    maybe = any(above_on_average(found, name) for name in found.policies)
    if not ours and not maybe:
        return "none ran"
    more = " more than production does" if OBSERVED in found.policies else ""
    waits = [waits_too_much(found, one.names[0]) for one in ours]
    if waits and all(waits) and not maybe:
        return all_wait(found, [min(one.names, key=OBSERVED.__eq__) for one in ours])
    either = " or leaves containers waiting" if any(waits) else ""
    return f"every policy overloads nodes{more}{either}, or may do so"


def _why_none(found: Results, fit: Sequence[tuple[str, ...]], barred: Sequence[LeftOut]) -> str:
    if not fit:
        return _none_fits(found, barred)
    if found.most_orders < FEWEST:
        return too_few(found)
    if len(fit) == 1:
        return _alone(found, fit[0])
    firsts = [names[0] for names in fit]
    if any(untested(found, one.name, firsts) for one in may_answer(found)):
        return (
            f"{SEED_ALONE}, which changes nothing by what decides: the differences hold for this"
            " trace, and nothing says how far beyond it"
        )
    return "the policies that may be chosen do not differ beyond chance, or by too little to count"


def _alone(found: Results, names: Sequence[str]) -> str:
    """A sentence on the only policy that may be chosen, beside production if that is known."""
    if OBSERVED in names:
        return f"{listed([name for name in names if name != OBSERVED])} place as production does"
    ours = "policy that may be chosen" if len(names) == 1 else "policies that may be chosen"
    if OBSERVED not in found.policies:
        which = f"{names[0]} is the only {ours}" if len(names) == 1 else f"the {ours} place alike"
        return f"{which}, so there is nothing to compare with"
    which = f"{names[0]}, the only {ours}," if len(names) == 1 else f"the {ours} place alike, which"
    apart = [
        (one, told)
        for one in may_answer(found)
        if (told := difference(found, names[0], OBSERVED, one.name)) is not None
        and told.apart
        and not too_near(one, [found.of(name, one.name).mean() for name in (names[0], OBSERVED)])
    ]
    sides = {
        "better": [one for one, told in apart if (told.mean < 0) == (one.better == "low")],
        "worse": [one for one, told in apart if (told.mean < 0) != (one.better == "low")],
    }
    said = [
        f"{side} by {listed([small(one.title) for one in found_])}"
        for side, found_ in sides.items()
        if found_
    ]
    if not said:
        return f"{which} does not differ from production beyond chance"
    return f"{which} is {' and '.join(said)} than production, beyond chance"


def not_told(found: Results) -> list[str]:
    """Why answering measures tell nothing, where bounds do not hold, and what cannot be moved."""
    said = []
    for one in of_answer(found):
        stand = standings(found, one.name)
        if not stand.tells:
            said.append(f"{one.title}: {stand.why_not}.")
    said += filter(None, [few_wait(found)])
    waiting = [name for name in found.policies if name != OBSERVED and found.waited(name)]
    if waiting and BOUND in found.summary["policy"]:
        said.append(
            f"Bounds hold where every container runs as soon as it arrives: under"
            f" {listed(waiting)} some wait, so that these may be below the row 'bound'."
        )
    return [*said, *(f"{one[:1].upper()}{one[1:]}." for one in _unmovable(found))]


def _unmovable(found: Results) -> list[str]:
    """A clause for each resource that no policy can change much."""
    movable = found.manifest.get("workload", {}).get("movable") or {}
    return [
        f"only {share:.1%} of the {words_of(resource)} in use can be moved by any policy"
        for resource, share in movable.items()
        if share is not None and share < SMALL_SHARE
    ]


def blind_told(decisions: Mapping[str, int]) -> list[str]:
    """The policies that read use before there was any; ``decisions`` made so, by policy."""
    by_count: dict[int, list[str]] = {}
    for policy, count in decisions.items():
        if count:
            by_count.setdefault(count, []).append(policy)
    return [
        f"{listed(names)} read{'s' if len(names) == 1 else ''} use and decided"
        f" {'once' if count == 1 else f'{count:,} times'} before any use had been measured"
        for count, names in by_count.items()
    ]
