"""How sure the number of nodes is that a study found to be enough, in words."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.found import COST
from tracekit.answer.fewest.words.beside import beyond_chance
from tracekit.answer.fewest.words.there import with_all
from tracekit.answer.fewest.words.told import AnswerTold, span
from tracekit.replay.runs.lost_nodes import no_other_loss
from tracekit.units import MS_PER_DAY, duration
from tracekit.words import count, counted, few


def sure(found: AnswerTold) -> str:
    """What the range covers, which policies are beyond chance, and what is not covered."""
    about, row = found.about, found.best
    orders = about["repeats"]
    if orders == 1:
        why = about["repeats_none"]
        known = (
            f"There is one order of arrival{f': {why}' if why else ''}."
            if not about["repeats_cover"]
            else "One order of arrival was searched"
            f"{f': {why}' if why else ''}. How far another would differ is not known."
        )
        return f"{known} {_uncovered(about)}"
    alone = span(row["nodes_low"], row["nodes_high"])
    beyond = (
        " A count that is enough for one order is too few for another."
        if row["nodes"] > row["nodes_high"]
        else ""
    )
    by_cost = about.get("least") == COST
    apart = "" if by_cost else beyond_chance(found.study, row["policy"])
    return (
        f"{_hold(found)} in each of {counted(orders, 'order')} of arrival; one"
        f" order alone needs {alone}.{beyond} The chance that a further order needs more is at"
        f" most 1 in {orders}."
        f" {apart}{_uncovered(about)}"
    )


def _hold(found: AnswerTold) -> str:
    """What is as sure as the orders make it."""
    nodes = found.best["nodes"]
    if with_all(found.study, found.best):
        return f"{count(nodes, 'node')} stay, overloaded as they are,"
    return f"{count(nodes, 'node')} {'is' if nodes == 1 else 'are'} enough"


def _uncovered(about: Mapping[str, Any]) -> str:
    assumed = [name for name, how in about["workload"]["quantities"].items() if how == "assumed"]
    what = f" what was assumed ({few(assumed)})," if assumed else ""
    # without times and use of the trace's own there is no peak that it could be too short for
    timeless = {"use of containers", "arrivals"} <= set(assumed)
    span_ms = None if timeless else about["workload"].get("span_ms")
    beyond = f"load beyond that of the trace{_how_long(span_ms)}"
    loss = no_other_loss(about["workload"].get("lost", ()))
    other = f" {loss}," if loss else ""
    return f"Not covered:{what} {beyond},{other} and another choice of nodes."


def _how_long(span_ms: int | None) -> str:
    """How long the trace is, and which peaks it can not hold."""
    if span_ms is None:
        return ""
    peak = "daily" if span_ms < MS_PER_DAY else "weekly" if span_ms < 7 * MS_PER_DAY else ""
    return f" ({duration(span_ms)}{f': too short to hold a {peak} peak' if peak else ''})"
