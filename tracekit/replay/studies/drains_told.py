"""Which nodes to drain, and which of them no drain gets empty, in words and for a document."""

from __future__ import annotations

import polars as pl

from tracekit.replay.studies.shrink_frames import BARRED_BY
from tracekit.replay.studies.shrink_told import Told
from tracekit.sources.own._kubernetes_rules import BUDGET
from tracekit.study import Study

#: So many nodes are named in the sentence; the table and the document have them all.
_NAMED = 5


def going(study: Study, policy: str) -> list[str]:
    """The nodes that can go under a policy, the first to go first."""
    nodes = study.frames["nodes"].filter(~pl.col("kept"), policy=policy)
    return [str(name) for name in nodes.sort("place", descending=True)["node"]]


def query_of_going(study: str, policy: str) -> str:
    """The statement that lists them all from the study's folder."""
    file, name = (text.replace("'", "''") for text in (f"{study}/nodes.parquet", policy))
    return f"SELECT node FROM '{file}' WHERE NOT kept AND policy = '{name}' ORDER BY place DESC"


def barred(found: Told) -> str:
    """Which nodes that go cannot be drained; empty where none goes, or no budget is known."""
    nodes = found.nodes
    gone = nodes.filter(~pl.col("kept"))
    if BARRED_BY not in nodes.columns or gone.is_empty():
        return ""
    held = gone.filter(pl.col(BARRED_BY).is_not_null())
    if held.is_empty():
        return f"No {BUDGET} bars any of the nodes that can go from being drained."
    listed = [f"{row['node']} ({row[BARRED_BY]})" for row in held.head(_NAMED).to_dicts()]
    more = [f"{held.height - _NAMED:,} more"] if held.height > _NAMED else []
    return (
        f"{held.height:,} of the {gone.height:,} that can go cannot be drained before a {BUDGET} is"
        f" changed, for it allows no eviction there: {', '.join([*listed, *more])}."
    )


def held(study: Study, policy: str) -> dict[str, str] | None:
    """Budgets by the node that goes and that they bar; None where no budget is known."""
    nodes = study.frames["nodes"]
    if BARRED_BY not in nodes.columns:
        return None
    gone = nodes.filter(~pl.col("kept") & pl.col(BARRED_BY).is_not_null(), policy=policy)
    return dict(gone.select("node", BARRED_BY).iter_rows())
