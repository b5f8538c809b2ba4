"""The ways to place in order of rank, and how each stands: a row for each."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import polars as pl

from tracekit.replay.answer.fitness import above_on_average
from tracekit.replay.answer.standings import Standing, Standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.measures import headline

CHOSEN, BEST, WITHIN = "first choice", "best", "within chance of the best"
WORSE, WAITED = "worse, beyond chance", "left containers waiting"
PRODUCTION = "production"
NEAREST = "comes nearest to being better"
BARRED = "not to be chosen: overloads nodes"
RISKY = "overloads more than allowed on average, within chance"
UNTOLD = "not told apart"
UNJUDGED = "met too few orders: not judged"
#: Below the first choice, and those that may be chosen, each group in order of rank.
_LATER = {CHOSEN: -1, NEAREST: -1, RISKY: 1, BARRED: 2, WAITED: 2, UNJUDGED: 3}
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
}


def ranked(data: Data) -> pl.DataFrame:
    """A row for each way to place, in order; without rows where there are fewer than two."""
    measure = headline(data)
    if measure is None:
        return pl.DataFrame(schema=_SCHEMA)
    found = data.standings(measure.name)
    told = data.decision
    chosen = told.chosen if told else ()
    barred = {name for one in (told.left_out if told else ()) for name in one.names}
    waited = {name for name in barred if data.results and data.results.waited(name)}
    risky = {
        name
        for name in (data.results.policies if data.results else ())
        if data.results and above_on_average(data.results, name)
    }
    nearest = told.nearest if told else ""
    once = set(told.unjudged if told else ())
    most = max((row.orders for row in found.rows), default=0)
    rows = [
        {
            "policy": row.names[0],
            "same": len(row.names) - 1,
            "value": row.mean,
            "low": row.low,
            "high": row.high,
            "stands": _stands(
                found,
                row,
                (chosen, nearest),
                barred,
                risky=risky,
                waited=row.waited or not waited.isdisjoint(row.names),
                judged=most < FEWEST or row.names[0] not in once,
            ),
            "orders": row.orders,
            "measure": measure.name,
            "why_not": found.why_not,
        }
        for row in found.rows
    ]
    if len(rows) < 2:
        return pl.DataFrame(schema=_SCHEMA)
    rows.sort(key=lambda row: _LATER.get(str(row["stands"]), 0))
    return pl.DataFrame(rows, schema=_SCHEMA)


def _stands(
    found: Standings,
    row: Standing,
    ours: tuple[Sequence[str], str],
    barred: AbstractSet[str],
    *,
    risky: AbstractSet[str],
    waited: bool,
    judged: bool,
) -> str:
    """What the first page says of a row, else how it stands by the measure."""
    names, (chosen, nearest) = set(row.names), ours
    said = (
        (PRODUCTION, row.names[0] == OBSERVED),
        (UNJUDGED, not judged),
        (WAITED, waited),
        (CHOSEN, chosen and chosen[0] in names),
        (NEAREST, nearest in names),
        (BARRED, names & barred),
        (RISKY, names & risky),
        (WITHIN, names & set(chosen)),
        (UNTOLD, not found.tells),
        (UNJUDGED, row.orders < FEWEST),
        (BEST, not (chosen or nearest) and found.best and row is found.best[0]),
        (WORSE, row.apart_from_best),
    )
    return next((what for what, holds in said if holds), WITHIN)
