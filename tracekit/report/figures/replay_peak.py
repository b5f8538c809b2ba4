"""CPU of the fullest node over time, under each policy."""

import itertools

import polars as pl

from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.report import over_time
from tracekit.report.data import Data
from tracekit.report.figures import Figure
from tracekit.report.measures import side
from tracekit.report.policies import FULLEST, label
from tracekit.words import counted, listed, percent

_AXIS = "CPU of the fullest node [%]"


_MEASURE = find_measure(FULLEST)


def _prepare(data: Data) -> pl.DataFrame:
    """The lines, and which of the policies that the title names chance may have set apart."""
    frame = over_time.prepare(FULLEST)(data)
    return frame.with_columns(chance=pl.lit(_chance(data, _named(frame))))


def _chance(data: Data, names: list[str]) -> str:
    """Which of the policies do not differ over all orders, or met too few of them; clauses."""
    found = data.results
    if _MEASURE is None or found is None or len(names) < 2:
        return ""
    met = {one: found.orders(one) for one in found.policies if one != OBSERVED}
    few = [one for one in names if met.get(one, FEWEST) < FEWEST]
    told = f"; {listed(list(map(_who, few)))} met too few orders of arrival to tell" if few else ""
    return f"{_over_all(data, [one for one in names if one not in few])}{told}"


def _over_all(data: Data, names: list[str]) -> str:
    """Which of those that met enough orders do not differ, a clause; empty where all do."""
    pairs = list(itertools.combinations(names, 2))
    if _MEASURE is None or not pairs:
        return ""
    alike = [pair for pair in pairs if not side(data, *pair, _MEASURE).side]
    if len(alike) == len(pairs):
        who = "these" if len(pairs) == 1 else "no two of these"
        verb = "do not differ" if len(pairs) == 1 else "differ"
        return f"; over all orders {who} {verb} beyond chance"
    return f"; over all orders {_alike(alike)} beyond chance" if alike else ""


def _alike(pairs: list[tuple[str, str]]) -> str:
    """That two of three policies do not differ, or that two do not differ from the third."""
    if len(pairs) == 1:
        return f"{listed(list(map(_who, pairs[0])))} do not differ"
    (shared,) = set.intersection(*map(set, pairs))
    others = [_who(name) for pair in pairs for name in pair if name != shared]
    return f"neither {listed(others, 'nor')} differs from {_who(shared)}"


def _who(policy: str) -> str:
    return "production" if policy == OBSERVED else label(policy)


def _named(frame: pl.DataFrame) -> list[str]:
    """Production, and the policies whose fullest nodes reach least and most; none if all alike."""
    found = over_time.peaks(frame)
    if found is None:
        return []
    usual = [OBSERVED] if OBSERVED in over_time.amounts(frame, "most") else []
    return list(dict.fromkeys([*usual, found.low, found.high]))


def _takeaway(frame: pl.DataFrame) -> str:
    known, found = over_time.amounts(frame, "most"), over_time.peaks(frame)
    if found is None:
        return f"CPU of the fullest node is not known for any of {counted(frame.height, 'sample')}."
    low, high = found.low, found.high
    least, most = (percent(found.reached[name], 1) for name in (low, high))
    if found.alike:
        return f"The fullest node reaches {least} CPU whatever the policy."
    usual = f"{percent(known[OBSERVED], 1)} CPU in production, " if OBSERVED in known else ""
    cpu = "" if usual else " CPU"
    return (
        f"The fullest node reaches {usual}{least}{cpu} under {label(low)} and"
        f" {most} under {label(high)}, once the cluster is"
        f" filled, in the first order of arrival{frame['chance'][0]}."
    )


FIGURE = Figure(
    title="CPU in use on the fullest node, over time",
    question="How close does the hottest node come to its limit?",
    how_to_read="Lower is better. Above 100 % the containers on a node want more CPU than it has,"
    " and all of them slow down. Use is what containers, daemons and background take of all that a"
    " node has, in the first order of arrival; tables have the mean over all orders. What is"
    " reached while nodes are still being filled does not count, and production, which fills"
    " nothing, is not drawn there. The dashed grey line is the least"
    " that any placement could do."
    " Drawn are production, the policy that the first page names, and the one that goes highest;"
    " the page on two policies draws any. A narrow screen has the highest value of each of"
    f" {over_time.NARROW_POINTS} stretches of time.",
    reads=("replay/steps",),
    prepare=_prepare,
    draw=over_time.draw(FULLEST, _AXIS),
    narrow=over_time.narrow(FULLEST, _AXIS),
    takeaway=_takeaway,
    table=over_time.summary_table(FULLEST),
    absent="The run holds no samples over time, so there are no peaks to show.",
    csv=("policy", "time_ms", FULLEST),
    note=over_time.note,
)
