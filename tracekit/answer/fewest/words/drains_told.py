"""The nodes to drain, and those of them that no drain empties, in words and for a document."""

from collections.abc import Sequence

import polars as pl

from tracekit.answer.fewest.frames import BARRED_BY, CORDONED, LIKE
from tracekit.answer.fewest.words.nodes import by_shape
from tracekit.answer.fewest.words.told import AnswerTold
from tracekit.sources.own._kubernetes.rules import BUDGET
from tracekit.study import Study
from tracekit.words import and_more, few, short_id

#: So many nodes are named in the sentence; the table and the document have them all.
_NAMED = 5
#: More shapes of nodes than this are counted.
_SHAPES = 4


def going(study: Study, policy: str) -> list[str]:
    """The nodes that can go under a policy, the first to go first."""
    nodes = study.frames["nodes"].filter(~pl.col("kept"), policy=policy)
    return [str(name) for name in nodes.sort("place", descending=True)["node"]]


def added(study: Study, policy: str) -> list[dict[str, str]]:
    """The nodes to add under a policy: their names in the study, and the node each is like."""
    nodes = study.frames["nodes"].filter(pl.col(LIKE).is_not_null(), policy=policy)
    return nodes.sort("place").select("node", pl.col(LIKE).alias("like")).to_dicts()


def query_of_going(study: str, policy: str) -> str:
    """The statement that lists them all from the study's folder."""
    file, name = (text.replace("'", "''") for text in (f"{study}/nodes.parquet", policy))
    return f"SELECT node FROM '{file}' WHERE NOT kept AND policy = '{name}' ORDER BY place DESC"


def goes(found: AnswerTold) -> str:
    """Which nodes go, or are to be added, by shape, and what they cost; empty for none."""
    added = found.nodes.filter(pl.col(LIKE).is_not_null())
    if added.height:
        cost = _cost(added, found, "more")
        each = " Each has the labels and taints of the node that it is like."
        said = f"{added.height:,} to add, evenly over the sizes there are: {_listed(added)}{cost}."
        more = f"{said}{each}{_open(found)}"
        then = _gone(found)
        return f"{more} Then {then}" if then else more
    return _gone(found)


def _gone(found: AnswerTold) -> str:
    """Which nodes go, by shape, and what they cost; empty for none."""
    gone = found.nodes.filter(~pl.col("kept"))
    if gone.is_empty():
        return ""
    first = {
        "least_requested": "those of which least is requested",
        "smallest": "the smallest",
        "dearest": "those that cost most for what they have",
        "fullest": "those that are used most with all",
        "by_kind": "by how many of each kind stay",
    }
    said = f"{gone.height:,} can go, {first[found.best['going']]}: {_listed(gone)}"
    return f"{said}{_cost(gone, found, 'of')}.{_cordoned(found, gone)}"


def _open(found: AnswerTold) -> str:
    """Which nodes that stay are cordoned at the end, a sentence; empty for none."""
    if CORDONED not in found.nodes.columns:
        return ""
    names = found.nodes.filter(pl.col(CORDONED) & pl.col("kept"))["node"].to_list()
    if not names:
        return ""
    are, count = ("is", "counts") if len(names) == 1 else ("are", "count")
    closed = "it stays" if len(names) == 1 else "they stay"
    return (
        f" {few([short_id(name) for name in names])} {are} cordoned at the end and {count} as open"
        f" here: more are needed where {closed} closed."
    )


def _cordoned(found: AnswerTold, gone: pl.DataFrame) -> str:
    """Which nodes take nothing new already, a sentence; empty where all do."""
    if CORDONED not in found.nodes.columns:
        return ""
    every, goes = (some.filter(CORDONED)["node"].to_list() for some in (found.nodes, gone))
    named = and_more(every[:_NAMED], len(every))
    if len(goes) == len(every):
        return f" {named} {'is' if len(every) == 1 else 'are'} cordoned, and among them."
    return f" Cordoned are {named}; {len(goes):,} of these can go."


def _listed(nodes: pl.DataFrame) -> str:
    """Nodes by shape, in words."""
    shapes = by_shape(nodes)
    listed = [
        f"{row['nodes']:,} with {row['shape']}{_like(row[LIKE])}"
        for row in shapes.head(_SHAPES).to_dicts()
    ]
    more = shapes.height - len(listed)
    listed += [f"{shapes['nodes'][_SHAPES:].sum():,} of {more} other shapes"] if more > 0 else []
    return ", ".join(listed)


def _cost(some: pl.DataFrame, found: AnswerTold, how: str) -> str:
    """What some nodes cost ``of`` all, or ``more`` than those that are there; a clause."""
    if "price_per_hour" not in some.columns:
        return ""
    there = found.nodes.filter(pl.col(LIKE).is_null())
    unpriced = there["price_per_hour"].null_count()
    if unpriced:
        return f"; what they cost is not known, as {unpriced:,} of {there.height:,} have no price"
    theirs, all_ = (one["price_per_hour"].sum() for one in (some, there))
    if how == "of":
        return f"; they cost {theirs:,.2f} of {all_:,.2f} per hour"
    return f"; they cost {theirs:,.2f} per hour, beside {all_:,.2f} now"


def _like(names: Sequence[str | None]) -> str:
    """Which nodes those to add are like, in brackets: others of that size may be tainted."""
    known = sorted(name for name in names if name is not None)
    return f" (like {few([short_id(name) for name in known])})" if known else ""


def barred(found: AnswerTold) -> str:
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
