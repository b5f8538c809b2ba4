"""What rebalancers did, in sentences."""

import polars as pl

from tracekit.units import duration

_WHILE_FILLING = "moves_while_filling"


def moved(summary: pl.DataFrame) -> list[str]:
    """One sentence for each policy that had containers moved; none of a summary without moves."""
    if not {"moves", "move_downtime_ms"} <= set(summary.columns):
        return []
    return [_told(row) for row in summary.filter(pl.col("moves") > 0).to_dicts()]


def _told(row: dict[str, int]) -> str:
    moves, early = row["moves"], row.get(_WHILE_FILLING) or 0
    made = "1 move" if moves == 1 else f"{moves:,} moves"
    when = "all of them" if early == moves else f"{early:,} of them"
    filling = f" ({when} while the cluster filled)" if early else ""
    lost = row["move_downtime_ms"]
    cost = f", which cost {duration(lost)} of service" if lost else ""
    return f"{row['policy']} made {made}{filling}{cost}"
