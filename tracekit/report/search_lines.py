"""Which policies of the placement experiment have a colour of their own, and which."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

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
