"""Policies in the figures and tables of a replay: which rows are what, and how they are drawn."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.data import Data
from tracekit.report.drawing.palette import color

#: Rows of a run that are no policy under test.
APART = (OBSERVED, BOUND)
LABELS = {OBSERVED: "observed (production)", BOUND: "lower bound"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
#: What the page on load draws over time.
FULLEST = "cpu_max_fraction"


def tested(frame: pl.DataFrame) -> list[str]:
    """Policies of a frame in their order, without production's placement and the bound."""
    return [name for name in frame["policy"].unique(maintain_order=True) if name not in APART]


def in_order(frame: pl.DataFrame) -> list[str]:
    """Every row's name: production first, policies, the bound last."""
    present = set(frame["policy"])
    ends = [[name] if name in present else [] for name in APART]
    return [*ends[0], *tested(frame), *ends[1]]


def label(policy: str) -> str:
    """What legends call a policy."""
    return LABELS.get(policy, policy)


def style(policy: str, slot: str) -> dict[str, Any]:
    """Colour, dash and width of a policy's line, by its place among the colours of policies."""
    if policy == OBSERVED:
        return {"color": color("observed"), "dash": "solid", "width": 3}
    if policy == BOUND:
        return {"color": color("bound"), "dash": "dash", "width": 2}
    at = int(slot.rpartition("-")[2]) - 1 if slot.startswith("policy-") else 0
    return {"color": color(slot), "dash": _DASHES[at % len(_DASHES)], "width": 2}


def goes_highest(steps: pl.DataFrame, column: str) -> list[str]:
    """The policy that goes highest once the cluster is filled, or none.

    That is what titles speak of: while the cluster fills, other policies go higher.
    """
    if column not in steps.columns:
        return []
    settled = pl.col("settled") | ~pl.col("settled").any().over("policy")
    ours = steps.filter(settled & pl.col(column).is_not_null() & ~pl.col("policy").is_in(APART))
    return ours.sort(column, descending=True, nulls_last=True)["policy"].head(1).to_list()


def replayed(data: Data) -> list[str]:
    """The policies that a run replayed, production among them."""
    return [one["policy"] for one in (data.run or {}).get("policies", [])]


#: The policies of the paper, whose colours stay whoever else is there.
NAMED = ("lra", "bra", "cwt", "bes", "tbesk", "tbesk_exact")


def ended(imbalance: pl.DataFrame) -> pl.DataFrame:
    """The rows with all containers placed, the most even first."""
    last = imbalance.filter(pl.col("containers") == pl.col("containers").max())
    return last.sort("imbalance", "policy")


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each policy of the paper, and for the first others while there are colours left.

    Parameters
    ----------
    names : sequence of str
        Policies, the most even first.
    """
    paper = {name: at for at, name in enumerate(NAMED, start=1) if name in names}
    free = [at for at in range(1, len(NAMED) + 1) if at not in paper.values()]
    others = [name for name in names if name not in paper]
    return {name: f"policy-{at}" for name, at in [*paper.items(), *zip(others, free, strict=False)]}
