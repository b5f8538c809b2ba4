"""How hot the hottest nodes get."""

import polars as pl

from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.report.figures._node_distribution_title import HOT
from tracekit.report.findings import Finding, Said
from tracekit.store.quantities import INFERRED
from tracekit.words import count, percent


def _find(data: Data) -> Said | None:
    profile = data.query("usage/node_profile")
    if profile.is_empty():
        return None
    hot = profile.filter(pl.col("cpu_max") >= HOT).height
    middle = float(profile["cpu_max"].median())  # type: ignore[arg-type]
    highest = float(profile["cpu_max"].max())  # type: ignore[arg-type]
    verb = "reaches" if hot == 1 else "reach"
    # without samples of nodes, what their containers use stands for it
    inferred = (data.info or {}).get("quantities", {}).get("use of nodes") == INFERRED
    added = _added(data)
    beside = ""
    if added is not None and percent(added, 1) != percent(highest, 1):
        beside = _beside(added, inferred=inferred)
    what = "highest of any node" if inferred else "highest recorded on any node"
    summed = "; a node's use is the sum over its containers" if inferred else ""
    return Said(
        value=percent(highest),
        sentence=f"CPU is the {what}, over the whole trace{summed}."
        f" {count(hot, 'node')} of {profile.height:,} {verb} {percent(HOT)} at least once; the"
        f" median node peaks at {percent(middle)}.{beside}",
        page="trace",
    )


def _added(data: Data) -> float | None:
    """Production's highest CPU use, as the replay has it."""
    summary = data.replay("summary")
    if not {"policy", "cpu_max_fraction"} <= set(summary.columns):
        return None
    return next(iter(summary.filter(policy=OBSERVED)["cpu_max_fraction"]), None)


def _beside(added: float, *, inferred: bool) -> str:
    if inferred:
        return f" Over the time that is judged on other pages, production's is {percent(added, 1)}."
    return (
        f" That is what nodes report themselves; production's {percent(added, 1)} on other pages is"
        " the sum over the containers of a node and what runs beside them, over the time that is"
        " judged."
    )


FINDING = Finding(order=70, find=_find)
