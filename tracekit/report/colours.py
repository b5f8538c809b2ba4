"""Which colour each policy has: one assignment, for all figures of a report."""

from collections.abc import Mapping

import polars as pl

from tracekit.answer.fewest.study import NAME as FEWEST_NODES
from tracekit.report.data import Data
from tracekit.report.drawing.palette import POLICY_SLOTS, color
from tracekit.report.measures import named
from tracekit.report.policies import APART, FULLEST, goes_highest, replayed
from tracekit.report.trade_off import TITLED, points

#: What a policy has that is not among the first.
_REST = "other"


def slots(data: Data) -> dict[str, str]:
    """The name of the colour of each policy that has one of its own.

    Those that titles name come first, then those that the first page names, then the others.
    """
    shown = points(data)
    wanted = [
        *named(data),
        *shown.filter(pl.col("kind").is_in(TITLED))["policy"],
        *_fewest(data)[:1],
        *goes_highest(data.replay("steps"), FULLEST),
        *shown.filter("also")["policy"],
        *replayed(data),
        *_fewest(data),
    ]
    ours = [name for name in dict.fromkeys(wanted) if name not in APART]
    return {name: f"policy-{at}" for at, name in enumerate(ours[:POLICY_SLOTS], start=1)}


def _fewest(data: Data) -> list[str]:
    """Who was asked how many nodes are enough, the one that needs fewest first."""
    frame = data.result(f"{FEWEST_NODES}/policies")
    known = [] if frame.is_empty() else frame.sort("nodes", nulls_last=True)["policy"].to_list()
    return [str(name) for name in known]


def slot(policy: str, known: Mapping[str, str]) -> str:
    """The name of a policy's colour; production has its own, and those without one are grey."""
    return policy if policy in APART else known.get(policy, _REST)


def css(data: Data) -> dict[str, str]:
    """The colours themselves, as a script takes them."""
    return {policy: color(name) for policy, name in slots(data).items()}
