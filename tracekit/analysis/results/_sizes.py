"""The estimate of container sizes, computed once for the results that show it."""

from __future__ import annotations

from tracekit.analysis.results import Inputs
from tracekit.analysis.sizes.changes import RESOURCES, changes
from tracekit.analysis.sizes.estimate import Estimate, estimate
from tracekit.analysis.sizes.sums import Sums, sums_of


def sizes(inputs: Inputs) -> dict[str, tuple[Sums, Estimate]]:
    """Sums and estimate of each resource; empty when no node has both kinds of samples."""
    found = sums_of(changes(inputs.database), RESOURCES)
    return {
        name: (sums, estimate(sums, inputs.rng(f"sizes {name}")))
        for name, sums in found.items()
        if sums.nodes
    }
