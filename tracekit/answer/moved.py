"""The moves of rebalancers and their effect, in sentences."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.answer.amounts import difference_text, way
from tracekit.answer.may_answer import of_answer
from tracekit.answer.standings import Difference
from tracekit.replay.chance.material import too_near
from tracekit.replay.chance.student import FEWEST, compare
from tracekit.replay.measures import Measure, small
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.varying import in_the_first
from tracekit.units import duration
from tracekit.words import counted, few

_WHILE_FILLING = "moves_while_filling"


def moved(summary: pl.DataFrame, *, orders: int = 1) -> list[str]:
    """One sentence for each policy that had containers moved; none of a summary without moves.

    Parameters
    ----------
    orders : how many orders of arrival there were; a summary is of the first
    """
    if not {"moves", "move_downtime_ms"} <= set(summary.columns):
        return []
    first = in_the_first(orders)
    return [_told(row, first) for row in summary.filter(pl.col("moves") > 0).to_dicts()]


def bought(found: Results) -> list[str]:
    """The effect of each rebalancer that is replayed beside its policy alone.

    It names differences beyond chance, by measures that may answer and by those that bar a policy.
    It is empty where too few orders were met to tell, or no such pair was replayed.
    """
    pairs = [
        (alone, name)
        for name in found.policies
        for alone in found.policies
        if name.startswith(f"{alone}+") and min(map(found.orders, (alone, name))) >= FEWEST
    ]
    return [_bought(found, alone, name) for alone, name in pairs]


def _bought(found: Results, alone: str, name: str) -> str:
    sides: dict[str, list[str]] = {"better": [], "worse": []}
    # moves are what it does, not what it buys
    asked = [one for one in of_answer(found) if one.better and not one.name.startswith("move")]
    for measure, by in _differences(found, alone, name, asked):
        side = way(measure, by)
        if side:
            sides[side].append(f"{small(measure.title)} {difference_text(measure, by)}")
    moves = found.of(name, "moves").mean() if found.known(name, "moves") else 0.0
    orders = found.orders(name)
    said = [f"{side} by {few(told)}" for side, told in sides.items() if told]
    what = "; ".join(said) or "no measure that may answer differs beyond chance"
    price = f"{moves:,.0f} moves on average over {counted(orders, 'order')} of arrival"
    return f"{name} against {alone} alone, for {price}: {what}"


def _differences(
    found: Results, alone: str, name: str, asked: Sequence[Measure]
) -> list[tuple[Measure, Difference]]:
    """Differences by each measure, corrected for this pair alone: it is a question of its own."""
    known = [one for one in asked if found.known(name, one.name) and found.known(alone, one.name)]
    if not known:
        return []
    orders = min(found.orders(alone), found.orders(name))
    columns = [
        found.of(name, one.name)[:orders] - found.of(alone, one.name)[:orders] for one in known
    ]
    told = compare(np.stack(columns, axis=1))
    return [
        (
            one,
            Difference(
                policy=name, other=alone, measure=one.name, mean=float(told.mean[at]),
                low=float(told.low[at]), high=float(told.high[at]),
                apart=bool(told.separated[at]), orders=orders, on_average=bool(told.separated[at]),
                slight=bool(too_near(one, [found.of(it, one.name).mean() for it in (name, alone)])),
            ),
        )
        for at, one in enumerate(known)
    ]  # fmt: skip


def _told(row: dict[str, int], first: str) -> str:
    moves, early = row["moves"], row.get(_WHILE_FILLING) or 0
    made = "1 move" if moves == 1 else f"{moves:,} moves"
    when = "all of them" if early == moves else f"{early:,} of them"
    filling = f" ({when} while the cluster filled)" if early else ""
    lost = row["move_downtime_ms"]
    cost = f", which cost {duration(lost)} of service" if lost else ""
    return f"{row['policy']} made {made}{first}{filling}{cost}"
