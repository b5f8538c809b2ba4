"""Which policy's requests to follow, of those that were judged."""

from collections.abc import Sequence

import polars as pl

from tracekit.sizing.policies import parse_sizing_policy
from tracekit.sizing.policies.oracle import Oracle
from tracekit.sizing.policy import SizingPolicy


def margin_of(policy: SizingPolicy | str) -> float:
    """The share that a policy, or one of that name, adds to what it has seen, for safety."""
    known = parse_sizing_policy(policy) if isinstance(policy, str) else policy
    return float(getattr(known, "margin", 0.0))


def subject_of(totals: pl.DataFrame, chosen: Sequence[SizingPolicy], risk_share: float) -> str:
    """The policy to follow: one with a margin, within the risk by CPU and by memory.

    Of several the one with the fewest services at risk, and then the one that frees the largest
    share of the resource of which it frees less: cores do not make up for bytes. Where none is
    within the risk, the one that is nearest to it. Only where no policy has a margin one without
    it is followed, and only where there is no other the one that knows the future.
    """
    real = [policy for policy in chosen if not isinstance(policy, Oracle)]
    names = [str(policy) for policy in real if margin_of(policy) > 0] or [str(one) for one in real]
    rows = {name: totals.filter(policy=name) for name in names or [str(chosen[0])]}

    def risk(name: str) -> float:
        return float(rows[name]["above_share"].fill_null(0.0).max())  # type: ignore[arg-type]

    def merit(name: str) -> tuple[int, float]:
        known = rows[name].filter(pl.col("above_share").is_not_null())
        whole = known.select(pl.max_horizontal("requested_now", "requested")).to_series()
        saved = (known["freed"] / whole).fill_nan(0.0).min()
        return -int(known["services_at_risk"].sum()), float(saved or 0.0)  # type: ignore[arg-type]

    within = [name for name in rows if risk(name) <= risk_share]
    return max(within, key=merit) if within else min(rows, key=risk)
