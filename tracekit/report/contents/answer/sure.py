"""How sure the answer of a run is: what its intervals cover, and what is not told."""

from tracekit.answer.amounts import way
from tracekit.answer.decision import Decision
from tracekit.answer.fewest.study import NAME as SHRINK
from tracekit.answer.fitness import allowed
from tracekit.answer.may_answer import CONDITIONS, may_be_chosen
from tracekit.answer.standings import difference
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import OVERLOAD, all_measures, find_measure, small
from tracekit.replay.runs import varying
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.varying import ORDER
from tracekit.report.data import Data
from tracekit.words import listed, spaced

#: Of a measure that nothing happened to count.
_NO_NEWS = "it is 0 under every policy"
#: Why a way to place may not be chosen.
_BARRED = "at the mean nodes are overloaded more than they may be, or containers wait"
#: What the line above the answer says of every resource.
_MOVED = "can be moved by any policy"


def sure(data: Data, told: Decision) -> str:
    """What the intervals cover, and what is not told."""
    if told.orders < FEWEST:
        met = varying.told(told.orders, told.covers)
        return f"Not at all: with {met} whatever differs may be chance."
    covers = [f"the {one}" for one in told.covers or (ORDER,)]
    said = (
        f"Intervals are 95 %, over {varying.told(told.orders, told.covers)}. They do not cover"
        f" what was assumed. They cover {listed(covers)}, and are corrected for the number of"
        f" comparisons{_looks(data)}."
    )
    there = SHRINK in data.studies
    if there and data.results is not None and OBSERVED in data.results.policies:
        said += (
            " On the page of the fewest nodes a mean is one of fewer rows, so that its interval is"
            " narrower."
        )
    others = f"{_overload(data, told)}{_not_chosen(data, told)}"
    return spaced(f"{said}{others} {' '.join(_clauses(data, told))}".strip())


def wider(data: Data, told: Decision, before: str) -> str:
    """Why differences from production have wider intervals than the policy, a sentence; or empty.

    It stands below the table, where both are seen.
    """
    if data.results is None or before != OBSERVED or told.orders < FEWEST:
        return ""
    return (
        "Differences from production have wider intervals: it is known in one order of arrival"
        " alone."
    )


def _looks(data: Data) -> str:
    """A clause that says that the results were looked at twice."""
    twice = data.results is not None and data.results.looks > 1
    return " and for looking twice, as orders were to be added where the first left it open" * twice


def _overload(data: Data, told: Decision) -> str:
    """That chance does not rule out more overload than bars others; a sentence, or empty."""
    found, chosen = data.results, told.chosen[:1]
    row = data.standings(OVERLOAD).row(chosen[0]) if chosen and found is not None else None
    most = None if found is None else allowed(found)
    if row is None or most is None or row.high is None or row.high <= most:
        return ""
    return (
        f" Chance does not rule out that {chosen[0]} overloads nodes in {row.high:,.0f} node-steps"
        f" at the mean; no policy whose mean is beyond {most:,.0f} is recommended."
    )


def _not_chosen(data: Data, told: Decision) -> str:
    """Why the other ways to place are not chosen, counted by reason; a sentence, or empty."""
    measure = find_measure(told.criterion)
    if not told.chosen or measure is None or data.results is None:
        return ""
    barred = {name for one in told.left_out for name in one.names}
    rows = [
        row
        for row in data.standings(told.criterion).rows
        if OBSERVED not in row.names and not set(row.names) & set(told.chosen)
    ]
    if not rows:
        return ""
    judged = [row for row in rows if row.names[0] not in {*barred, *told.unjudged}]
    once = [row for row in rows if row.names[0] in told.unjudged]
    worse = [
        way(measure, difference(data.results, row.names[0], told.chosen[0], measure.name))
        == "worse"
        for row in judged
    ]
    reasons = {
        f"worse beyond chance by {small(measure.title)}": sum(worse),
        "worse by another measure": len(judged) - sum(worse),
        f"barred, as {_BARRED}": len(rows) - len(judged) - len(once),
        "met too few orders of arrival to be judged": len(once),
    }
    said = [f"{many} {reason}" for reason, many in reasons.items() if many]
    if len(rows) == 1:
        return f" The other way to place: {said[0].partition(' ')[2]}."
    return f" Of {len(rows)} other ways to place: {'; '.join(said)}."


def _clauses(data: Data, told: Decision) -> list[str]:
    """What is not told and is not said elsewhere: measures together, other things one by one.

    Measures tell nothing apart where a single way to place may be chosen: that is no news either.
    """
    measures = all_measures()
    # what bars others tells them apart from these
    barring = {measures[name].title for name in CONDITIONS if told.left_out}
    titles = {one.title for one in measures.values()}
    not_told = [text for text in told.not_told if text.partition(":")[0] not in barring]
    silent = [text for text in not_told if text.partition(":")[0] in titles]
    names = [small(text.partition(":")[0]) for text in silent if _NO_NEWS not in text]
    rest = [
        text
        for text in not_told
        if text not in silent and _tail(text) not in told.answer and _MOVED not in text
    ]
    if not names or (told.chosen and data.results and len(may_be_chosen(data.results)) == 1):
        return rest
    verb = "does" if len(names) == 1 else "do"
    return [
        f"{listed(names)[:1].upper()}{listed(names)[1:]} {verb} not tell policies apart.",
        *rest,
    ]


def _tail(text: str) -> str:
    """A sentence as it stands within another."""
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")
