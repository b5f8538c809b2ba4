"""Policies in the figures and tables of a replay: which rows are what, and how they are drawn."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.data import Data
from tracekit.report.drawing.palette import POLICY_SLOTS, color

#: Rows of a run that are no policy under test.
APART = (OBSERVED, BOUND)
LABELS = {OBSERVED: "observed (production)", BOUND: "lower bound"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star")


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


def style(policy: str, policies: list[str]) -> dict[str, Any]:
    """Colour, dash and symbol of a policy; those beyond the palette share one quiet colour."""
    if policy == OBSERVED:
        return {"color": color("observed"), "dash": "solid", "symbol": "x", "width": 3}
    if policy == BOUND:
        return {"color": color("bound"), "dash": "dash", "symbol": "line-ew-open", "width": 2}
    at = policies.index(policy)
    if at >= POLICY_SLOTS:
        return {"color": color("other"), "dash": "solid", "symbol": "circle-open", "width": 1}
    return {
        "color": color(f"policy-{at + 1}"),
        "dash": _DASHES[at],
        "symbol": SYMBOLS[at],
        "width": 2,
    }


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
