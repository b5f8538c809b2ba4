"""The estimate of container sizes, computed once for the results that show it."""

from tracekit.analysis.inference.estimate import Estimate
from tracekit.analysis.inference.sizes import inferred_sizes
from tracekit.analysis.inference.sums import Sums
from tracekit.analysis.results import Inputs


def sizes(inputs: Inputs) -> dict[str, tuple[Sums, Estimate]]:
    """Sums and estimate of each resource; empty when no node has both kinds of samples."""
    return inferred_sizes(inputs.database, inputs.rng)
