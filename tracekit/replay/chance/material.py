"""From where on a difference counts at all, however sure it is."""

from collections.abc import Sequence

from tracekit.replay.measures import Measure

#: A measure by which policies lie closer than this, relative to the larger, decides nothing.
MATERIAL = 0.01
#: Shares that lie closer than this are the same to whoever runs a cluster: a tenth of a point; of
#: a resource of the nodes half a point.
_LEAST_SHARE, _LEAST_OF_RESOURCE = 0.001, 0.005


def too_near(measure: Measure, middles: Sequence[float]) -> str:
    """A sentence if policies differ by too little to count; empty otherwise."""
    apart, least = max(middles) - min(middles), least_apart(measure)
    if apart < MATERIAL * max(map(abs, middles)):
        return f"policies differ by less than {MATERIAL:.0%}"
    return (
        f"policies differ by less than {100 * least:g} percentage points" if apart < least else ""
    )


def least_apart(measure: Measure) -> float:
    """Shares by which policies differ less decide nothing; 0 of what is no share."""
    if not measure.share:
        return 0.0
    return _LEAST_OF_RESOURCE if measure.per_resource else _LEAST_SHARE
