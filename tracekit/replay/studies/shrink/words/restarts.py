"""How many containers run on the nodes that go: a drain restarts them elsewhere."""

import polars as pl

from tracekit.replay.studies.shrink.frames import RUNNING
from tracekit.words import agreeing


def restarted(nodes: pl.DataFrame) -> int | None:
    """How many containers production runs at the end on the nodes that go, without daemons.

    Parameters
    ----------
    nodes : DataFrame
        All nodes under one policy.

    Returns
    -------
    int or None
        None where no node goes, and where production's placement is not recorded.
    """
    gone = nodes.filter(~pl.col("kept"))
    # a study of an earlier version does not say it
    return None if RUNNING not in nodes.columns or gone.is_empty() else int(gone[RUNNING].sum())


def told(nodes: pl.DataFrame) -> str:
    """The same as a clause after a count of nodes that go; empty where it is not known."""
    count = restarted(nodes)
    if count is None:
        return ""
    if not count:
        return ", on which no container runs at the end"
    them = "[container|containers] that [runs|run] there at the end [is|are] restarted elsewhere"
    return f", and the {agreeing(count, them)}"
