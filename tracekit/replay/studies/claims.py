"""What the TBESK paper reports of its placement experiment, to stand beside what came out here.

Source: Geng and Wang, C.S.A. 2023 32(4) 187-196, section 5; the tables with its nodes and pods are
not to be had, so that only directions can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Claim:
    """TBESK against another policy.

    Parameters
    ----------
    change : float, optional
        Reported relative change of mean imbalance on the whole (section 5.3.1), over all numbers
        of containers; below 0 for less. None where the paper has a figure only, which shows TBESK
        below where there are many containers.
    """

    against: str
    change: float | None


@dataclass(frozen=True, kw_only=True)
class RangeClaim:
    """Least and most used node under a policy, in points of utilization at all pods.

    Parameters
    ----------
    low, high : float, optional
        As fractions of capacity.
    difference : float, optional
        Where the paper reports the difference alone.
    """

    policy: str
    resource: str
    low: float | None = None
    high: float | None = None
    difference: float | None = None

    @property
    def width(self) -> float:
        """Reported difference between the most and the least used node."""
        if self.difference is not None:
            return self.difference
        return (self.high or 0.0) - (self.low or 0.0)


IMBALANCE = (
    Claim(against="lra", change=-0.24),
    Claim(against="bra", change=-0.21),
    Claim(against="cwt", change=None),
    Claim(against="bes", change=None),
)

#: "In the initial phase" TBESK's imbalance falls: what share of the numbers of containers that is.
INITIAL_SHARE = 0.25

RANGES = (
    RangeClaim(policy="tbesk", resource="net", low=0.55, high=0.95),
    RangeClaim(policy="tbesk", resource="disk", low=0.43, high=0.98),
    RangeClaim(policy="lra", resource="net", difference=0.54),
    RangeClaim(policy="lra", resource="disk", difference=0.65),
    RangeClaim(policy="bra", resource="net", difference=0.60),
    RangeClaim(policy="bra", resource="disk", difference=0.80),
)
