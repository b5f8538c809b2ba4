"""Call weights of a store's trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.errors import TracekitError
from tracekit.replay.workload.calls import CallWeights, call_weights

if TYPE_CHECKING:
    from tracekit.store import Store

QUERY = "calls/service_edges"


def calls_of_store(store: Store, services: tuple[str, ...]) -> CallWeights:
    """Who calls whom among a workload's services, by the query of service edges.

    Raises
    ------
    TracekitError
        When the store has no calls, or none between these services.
    """
    from tracekit.quick.run import run_quick  # noqa: PLC0415 - duckdb is slow to import

    if not any(entry.rows for entry in store.manifest.parts("call")):
        raise TracekitError(
            "the store has no calls between services, near_weight needs them",
            hint="ingest the call graph's files as well (MSCallGraph)",
        )
    weights = call_weights(services, run_quick(store, QUERY))
    if not len(weights.calls):
        raise TracekitError(
            "none of the calls in the store is between services that are replayed",
            hint="replay without near_weight",
        )
    return weights
