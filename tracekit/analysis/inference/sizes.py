"""The estimate of container sizes by resource, from a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tracekit.analysis.inference.changes import RESOURCES, changes
from tracekit.analysis.inference.estimate import Estimate, estimate
from tracekit.analysis.inference.sums import Sums, sums_of

if TYPE_CHECKING:
    from tracekit.store.query.engine import AnyDatabase


def inferred_sizes(
    database: AnyDatabase, rng: Callable[[str], np.random.Generator]
) -> dict[str, tuple[Sums, Estimate]]:
    """Sums and estimate of each resource; empty when no node has both kinds of samples.

    Parameters
    ----------
    rng : callable
        The generator of a label, for intervals.
    """
    found = sums_of(changes(database), RESOURCES)
    return {
        name: (sums, estimate(sums, rng(f"sizes {name}")))
        for name, sums in found.items()
        if sums.nodes
    }
