"""Colours of searches, the same in every figure: by their order among all there are."""

from tracekit.replay.optimize.searches import all_searches
from tracekit.report.drawing.palette import POLICY_SLOTS, color

#: What methods that are no search have in their figure.
OTHERS = {"greedy": "observed", "local_search": "policy-3", "integer_program": "bound"}
_FREE = [
    slot
    for slot in (f"policy-{at + 1}" for at in range(POLICY_SLOTS))
    if slot not in OTHERS.values()
]


def search_color(name: str) -> str:
    """The colour of a search, or of a method beside it; one for all beyond the palette."""
    colours = OTHERS | dict(zip(sorted(all_searches()), _FREE, strict=False))
    return color(colours.get(name, "other"))
