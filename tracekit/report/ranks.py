"""The ways to place in order of rank, and how each stands: a row for each."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import polars as pl

from tracekit.answer.advice import NEAREST, keeps_production
from tracekit.answer.fitness import STICK, YARDSTICK, above_on_average
from tracekit.answer.left_waiting import waits_too_much
from tracekit.answer.standings import Standing, Standings, difference
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.colours import slot, slots
from tracekit.report.data import Data
from tracekit.report.measures import headline

CHOSEN, BEST, WITHIN = "first choice", "best", "within chance of the best"
WORSE, WAITED = "worse, beyond chance", "left containers waiting"
PRODUCTION = "production"
BARRED = "not to be chosen: overloads nodes"
RISKY = "overloads more than allowed on average, within chance"
UNTOLD = "not told apart"
UNJUDGED = "met too few orders: not judged"
#: How they follow one another, each of them in order of rank; production beside the first choice.
_ORDER = (
    (CHOSEN, NEAREST),
    (PRODUCTION,),
    (BEST, WITHIN, UNTOLD),
    (WORSE,),
    (RISKY,),
    (BARRED,),
    (WAITED,),
    (STICK,),
    (UNJUDGED,),
)
_PLACES = {stands: at for at, group in enumerate(_ORDER) for stands in group}
_SCHEMA = {
    "policy": pl.String,
    "same": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "stands": pl.String,
    "orders": pl.Int64,
    "measure": pl.String,
    "why_not": pl.String,
    "shade": pl.String,
    "as_first": pl.Boolean,
}


def ranked(data: Data) -> pl.DataFrame:
    """A row for each way to place, in order; without rows where there are fewer than two."""
    measure = headline(data)
    if measure is None:
        return pl.DataFrame(schema=_SCHEMA)
    found = data.standings(measure.name)
    known, colours = _known(data), slots(data)
    most = max((row.orders for row in found.rows), default=0)
    rows = [
        {
            "policy": row.names[0],
            "same": len(row.names) - 1,
            "value": row.mean,
            "low": row.low,
            "high": row.high,
            "stands": _stands(
                found, row, known, judged=most < FEWEST or row.names[0] not in known.once
            ),
            "orders": row.orders,
            "measure": measure.name,
            "why_not": found.why_not,
            "shade": slot(row.names[0], colours),
            "as_first": _as_first(data, row, measure.name),
        }
        for row in found.rows
    ]
    if len(rows) < 2:
        return pl.DataFrame(schema=_SCHEMA)
    rows.sort(key=lambda row: _PLACES[str(row["stands"])])
    return pl.DataFrame(rows, schema=_SCHEMA)


def _as_first(data: Data, row: Standing, measure: str) -> bool:
    """Whether chance may explain how it differs from the policy that the title names."""
    first = data.decision.subject if data.decision else ""
    if data.results is None or not first or first in row.names or row.orders < FEWEST:
        return False
    by = difference(data.results, first, row.names[0], measure)
    return by is not None and not by.apart


class _Known(NamedTuple):
    """What the first page says of policies, by their names."""

    chosen: Sequence[str]
    nearest: str
    barred: AbstractSet[str]
    sticks: AbstractSet[str]
    risky: AbstractSet[str]
    waited: AbstractSet[str]
    once: AbstractSet[str]


def _known(data: Data) -> _Known:
    told, found = data.decision, data.results
    if told is None or found is None:
        none: frozenset[str] = frozenset()
        return _Known((), "", none, none, none, none, none)
    whys = {name: one.why for one in told.left_out for name in one.names}
    return _Known(
        chosen=told.chosen,
        # what a price keeps from being the choice is the nearest to it
        nearest=told.subject if keeps_production(found, told) else told.nearest,
        barred=whys.keys(),
        sticks={name for name, why in whys.items() if why == YARDSTICK},
        risky={name for name in found.policies if above_on_average(found, name)},
        waited={name for name in whys if waits_too_much(found, name)},
        once=set(told.unjudged),
    )


def _stands(found: Standings, row: Standing, known: _Known, *, judged: bool) -> str:
    """What the first page says of a row, else how it stands by the measure."""
    names, chosen = set(row.names), known.chosen
    said = (
        (PRODUCTION, row.names[0] == OBSERVED),
        (UNJUDGED, not judged),
        (WAITED, row.waited or names & known.waited),
        (CHOSEN, chosen and not known.nearest and chosen[0] in names),
        (NEAREST, known.nearest in names),
        (STICK, names & known.sticks),
        (BARRED, names & known.barred),
        (RISKY, names & known.risky),
        (WITHIN, names & set(chosen)),
        (UNTOLD, not found.tells),
        (UNJUDGED, row.orders < FEWEST),
        (BEST, not (chosen or known.nearest) and found.best and row is found.best[0]),
        (WORSE, row.apart_from_best),
    )
    return next((what for what, holds in said if holds), WITHIN)
